export { attributeMembers, storedAttributes, storedWithTag } from '../stored/stored-attributes.ts'
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
export { indexed } from './attribute-index.ts'
export {
  type AttributeName,
  isAttributeOf,
  nameOfAttribute,
  referredName,
} from './attribute-name.ts'
export { attributeRule, requireRule } from './attribute-rules.ts'
export { isTagName, type VendorName, vendorNameOf } from './attribute-vendor.ts'
export { type AttributeState, attributeInstances, attributesOf } from './attribute-view.ts'
