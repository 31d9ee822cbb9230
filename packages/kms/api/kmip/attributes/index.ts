export { attributeRule, requireRule } from '../../../keys/creation/attribute-rules.ts'
export {
  attributeMembers,
  readStoredAttributes,
  readStoredWithTag,
} from '../../../keys/creation/stored-attributes.ts'
export { isTagName, readVendorName, type VendorName } from '../../../keys/creation/vendor-name.ts'
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
export { type AttributeState, attributeInstances, listAttributes } from './attribute-view.ts'
