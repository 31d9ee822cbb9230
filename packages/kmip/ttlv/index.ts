/**
 * TTLV: the one tree that every KMIP message is, and its binary form (KMIP 2.1 §10.1). A node is `{tag, type, value}`;
 * make nodes with `structure(tag, members)`, `integer(tag, value)` …, read members with `required` and `optional`.
 * Decoding is bounded: 64 levels, 65,536 items, no allocation by claimed lengths; it throws only KmipDecodeError.
 */
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
} from './build.ts'
export { decodeTtlv } from './decode.ts'
export { encodeTtlv } from './encode.ts'
export { KmipDecodeError, type KmipDecodeReason, KmipEncodeError, type SeenVersion } from './error.ts'
export { frameLength } from './frame.ts'
export {
  findMember,
  findMembers,
  memberLong,
  memberNumber,
  membersWithin,
  memberText,
  optional,
  optionalName,
  optionalStructure,
  requireMember,
  requireName,
  requireStructure,
  requireType,
  sameValue,
} from './members.ts'
export type {
  BigIntegerNode,
  BooleanNode,
  ByteStringNode,
  DateTimeExtendedNode,
  DateTimeNode,
  DecodeLimits,
  EnumerationNode,
  IntegerNode,
  IntervalNode,
  ItemValues,
  LongIntegerNode,
  NodeOf,
  StructureNode,
  TextStringNode,
  TtlvNode,
} from './node.ts'
