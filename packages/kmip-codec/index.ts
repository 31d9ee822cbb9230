export { decodeJson, decodeMembers, parseRoot } from './json/decode.ts'
export { encodeJson, type JsonForm, jsonValue } from './json/encode.ts'
export { asksForFetchForm } from './json/fetch-form.ts'
export { writeRequest } from './messages/client.ts'
export {
  contentTypes,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeResponse,
  findEncoding,
  sniffedBytes,
  sniffVersion,
  toErrorResponse,
} from './messages/codec.ts'
export { fromLegacyName, legacyVendor, toLegacyAttributes } from './messages/legacy-attributes.ts'
export { toResultReason } from './messages/request.ts'
export type {
  BatchErrorContinuation,
  Encoding,
  RequestItem,
  RequestMessage,
  ResponseItem,
} from './messages/types.ts'
export {
  type AttributeRow,
  type AttributeTypes,
  attributeByLegacyName,
  attributeIn,
  attributes,
  findAttribute,
} from './tables/attributes.ts'
export { keyFormatIn } from './tables/elliptic.ts'
export { Enumeration } from './tables/enumerations.gen.ts'
export {
  type EnumerationName,
  findEnumeration,
  findMask,
  type ItemType,
  maskValueNames,
  type ValueName,
  valueByName,
  valueName,
} from './tables/enumerations.ts'
export { messageIn } from './tables/legacy-messages.ts'
export { type OperationName, objectTypeIn, operationByName, operationIn } from './tables/operations.ts'
export { type ResultReason, reasonIn } from './tables/reasons.ts'
export { Tag } from './tables/tags.gen.ts'
export { type TagName, tagByName, tagName, tagText } from './tables/tags.ts'
export {
  atLeast,
  isLegacy,
  type KmipVersion,
  kmipVersion,
  kmipVersions,
  versionNumbers,
} from './tables/versions.ts'
export {
  bigInteger,
  boolean,
  byteString,
  dateTime,
  enumeration,
  integer,
  interval,
  longInteger,
  structure,
  textString,
  toBigInteger,
  toMagnitude,
} from './ttlv/build.ts'
export { decodeTtlv } from './ttlv/decode.ts'
export { encodeTtlv } from './ttlv/encode.ts'
export { KmipDecodeError } from './ttlv/error.ts'
export { frameLength } from './ttlv/frame.ts'
export {
  findMember,
  findMembers,
  memberLong,
  memberNumber,
  memberText,
  optional,
  optionalName,
  optionalStructure,
  requireMember,
  requireName,
  requireStructure,
  requireType,
  sameValue,
} from './ttlv/members.ts'
export type { EnumerationNode, ItemValues, StructureNode, TtlvNode } from './ttlv/node.ts'
