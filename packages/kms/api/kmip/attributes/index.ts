export { attributeMembers, readStoredAttributes, readStoredWithTag } from '../stored/stored-attributes.ts'
export { type Adjustment, adjustAttribute } from './attribute-adjust.ts'
export {
  addAttribute,
  deleteAttribute,
  type Edited,
  instancesCalled,
  modifyAttribute,
  setAttribute,
  type Which,
} from './attribute-edit.ts'
export { indexNodes } from './attribute-index.ts'
export {
  type AttributeName,
  isKnownAttribute,
  readAttributeName,
  readReferredName,
} from './attribute-name.ts'
export { attributeRule, requireRule } from './attribute-rules.ts'
export { isTagName, readVendorName, type VendorName } from './attribute-vendor.ts'
export { type AttributeState, attributeInstances, listAttributes } from './attribute-view.ts'
