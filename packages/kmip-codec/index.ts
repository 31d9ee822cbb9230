export { decodeJson, decodeMembers, parseRoot } from './json/decode.ts'
export { asksForFetchForm, encodeJson, type JsonForm, jsonValue } from './json/encode.ts'
export { readResponse, writeRequest } from './messages/client.ts'
export {
  contentTypes,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeResponse,
  findEncoding,
  isDraftMessage,
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
export { type DraftObjectType, isDraftValue } from './tables/draft.ts'
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
export { linkTag, linkTypeOfTag } from './tables/links.ts'
export { type OperationName, objectTypeIn, operationByName, operationIn } from './tables/operations.ts'
export { messageIn, type ResultReason, reasonIn } from './tables/reasons.ts'
export { Tag } from './tables/tags.gen.ts'
export { type TagName, tagByName, tagName, tagText } from './tables/tags.ts'
export {
  atLeast,
  draftVersion,
  isLegacy,
  type KmipVersion,
  kmipVersion,
  kmipVersions,
  listVersions,
  versionNumbers,
} from './tables/versions.ts'
export { decodeTtlv, frameLength } from './ttlv/decode.ts'
export { encodeTtlv } from './ttlv/encode.ts'
export { KmipDecodeError } from './ttlv/error.ts'
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
export {
  bigInteger,
  boolean,
  byteString,
  dateTime,
  type EnumerationNode,
  enumeration,
  type ItemValues,
  integer,
  interval,
  longInteger,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
  toBigInteger,
  toMagnitude,
} from './ttlv/node.ts'
