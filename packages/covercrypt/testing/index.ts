export { decapsulate, encapsulate } from '../encapsulation.ts'
export { encodeBulkSealRequest } from '../frames.ts'
export { listAttributes } from '../structure.ts'
