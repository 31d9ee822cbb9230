export { indexRowsOf, indexValue } from './index-rows.ts'
export { attributeBag, storedAttributes, storedWithTag, withStoredAttributes } from './stored-attributes.ts'
export { type ObjectChange, UnitOfWork } from './unit-of-work.ts'
