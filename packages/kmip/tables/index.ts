/**
 * The tables of KMIP 1.0 to 2.1: tags, enumerations, masks, operations, result reasons and attributes, both ways
 * between name and number, with the version that brought each. Names are read in any spelling (`SHA-256`, `SHA_256`,
 * `SHA256`) and written in that of the XML profile (`SHA_256`).
 */
export {
  type AttributeRow,
  type AttributeTypes,
  attributeByLegacyName,
  attributeIn,
  attributes,
  type CertificateNamePart,
  findAttribute,
} from './attributes.ts'
export { algorithmIn, keyFormatIn } from './elliptic.ts'
export { Enumeration } from './enumerations.gen.ts'
export {
  type EnumerationName,
  findEnumeration,
  findMask,
  type ItemType,
  maskValueNames,
  type ValueName,
  valueByName,
  valueName,
} from './enumerations.ts'
export { messageIn } from './legacy-messages.ts'
export { normaliseName } from './names.ts'
export { type OperationName, objectTypeIn, operationByName, operationIn } from './operations.ts'
export { type ResultReason, reasonIn } from './reasons.ts'
export { Tag } from './tags.gen.ts'
export { type TagName, tagByName, tagIntroduced, tagName, tagText } from './tags.ts'
export { atLeast, isLegacy, type KmipVersion, kmipVersion, kmipVersions, versionNumbers } from './versions.ts'
