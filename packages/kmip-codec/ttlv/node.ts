import type { ItemType } from '../tables/enumerations.ts'
import { isTag } from '../tables/tags.ts'
import { KmipDecodeError } from './error.ts'

interface Item<T extends ItemType, V> {
  /** 0x42.... (the standard's) or 0x54.... (an extension). */
  readonly tag: number
  readonly type: T
  readonly value: V
}

/** Members in their order; members may repeat. */
export type StructureNode = Item<'Structure', readonly TtlvNode[]>
/** 32 bits, signed. Bit masks are Integers too. */
type IntegerNode = Item<'Integer', number>
/** 64 bits, signed. */
type LongIntegerNode = Item<'LongInteger', bigint>
/**
 * A whole number of any size: big-endian two's complement, at least one byte, as short as possible (decoders
 * drop repeated sign bytes, the encoder pads to a multiple of 8). Bytes rather than a bigint because they may
 * be private keys: bytes can be wiped. `toBigInteger()` and `toMagnitude()` convert from and to magnitudes.
 */
type BigIntegerNode = Item<'BigInteger', Uint8Array>
/** 32 bits, unsigned. */
export type EnumerationNode = Item<'Enumeration', number>
type BooleanNode = Item<'Boolean', boolean>
/** Well-formed Unicode. */
type TextStringNode = Item<'TextString', string>
/** When decoded, it is a view of the message, not a copy. */
type ByteStringNode = Item<'ByteString', Uint8Array>
/** Whole seconds since 1970-01-01T00:00:00Z, within the range of a JavaScript Date. */
type DateTimeNode = Item<'DateTime', number>
/** Seconds, 32 bits, unsigned. */
type IntervalNode = Item<'Interval', number>
/** Microseconds since 1970-01-01T00:00:00Z, 64 bits, signed. */
type DateTimeExtendedNode = Item<'DateTimeExtended', bigint>

/** The identifier of an object, in 3.0 only; `fromVersion3` replaces it by a TextString. */
type IdentifierNode = Item<'Identifier', string>
/** The identifier of another object, in 3.0 only. */
type ReferenceNode = Item<'Reference', string>
/** The name of another object, in 3.0 only. */
type NameReferenceNode = Item<'NameReference', string>

/** A node of a TTLV tree, in every encoding (binary, JSON, XML). */
export type TtlvNode =
  | StructureNode
  | IntegerNode
  | LongIntegerNode
  | BigIntegerNode
  | EnumerationNode
  | BooleanNode
  | TextStringNode
  | ByteStringNode
  | DateTimeNode
  | IntervalNode
  | DateTimeExtendedNode
  | IdentifierNode
  | ReferenceNode
  | NameReferenceNode

/** The nodes of one type: `NodeOf<'Integer'>`. */
export type NodeOf<T extends ItemType> = Extract<TtlvNode, { readonly type: T }>

/** Value type of each item type: `ItemValues['Integer']` is number. */
export interface ItemValues {
  readonly Structure: readonly TtlvNode[]
  readonly Integer: number
  readonly LongInteger: bigint
  readonly BigInteger: Uint8Array
  readonly Enumeration: number
  readonly Boolean: boolean
  readonly TextString: string
  readonly ByteString: Uint8Array
  readonly DateTime: number
  readonly Interval: number
  readonly DateTimeExtended: bigint
  readonly Identifier: string
  readonly Reference: string
  readonly NameReference: string
}

/** Bounds of every decoder. */
export interface DecodeLimits {
  /** Nested structures, including the root. Default and maximum: 64. */
  readonly depth?: number
  /**
   * Total number of nodes. Default 65,536: a message of 64 MiB could otherwise become millions of objects.
   */
  readonly items?: number
  /** true: the message is one of the draft 3.0, which has three more item types, and names of its own. */
  readonly draft?: boolean
}

export const maximumDepth = 64
export const maximumItems = 65_536

/** The maximum DateTime, in seconds: the end of the range of a JavaScript Date. */
export const maximumDateTime = 8_640_000_000_000

/** Whether a value is valid for its type; encoders check it. */
export function fits(node: TtlvNode): boolean {
  if (!isTag(node.tag)) return false
  switch (node.type) {
    case 'Integer':
      return Number.isInteger(node.value) && node.value >= -0x80000000 && node.value <= 0x7fffffff
    case 'Enumeration':
    case 'Interval':
      return Number.isInteger(node.value) && node.value >= 0 && node.value <= 0xffffffff
    case 'LongInteger':
    case 'DateTimeExtended':
      return BigInt.asIntN(64, node.value) === node.value
    case 'DateTime':
      return Number.isInteger(node.value) && Math.abs(node.value) <= maximumDateTime
    case 'TextString':
    case 'Identifier':
    case 'Reference':
    case 'NameReference':
      return node.value.isWellFormed()
    case 'BigInteger':
      return node.value.length > 0
    default:
      return true
  }
}

/** A structure of these members; `undefined` members are omitted, so optional ones can be written in line. */
export function structure(tag: number, members: readonly (TtlvNode | undefined)[]): StructureNode {
  return { tag, type: 'Structure', value: members.filter((member) => member !== undefined) }
}

export function integer(tag: number, value: number): IntegerNode {
  return { tag, type: 'Integer', value }
}

export function longInteger(tag: number, value: bigint): LongIntegerNode {
  return { tag, type: 'LongInteger', value }
}

/** From big-endian two's complement bytes; repeated sign bytes are dropped. */
export function bigInteger(tag: number, value: Uint8Array): BigIntegerNode {
  return { tag, type: 'BigInteger', value: shortest(value) }
}

/** From a magnitude without sign, as JWK and DER carry moduli and exponents. */
export function toBigInteger(tag: number, magnitude: Uint8Array): BigIntegerNode {
  const signed = new Uint8Array(magnitude.length + 1)
  signed.set(magnitude, 1)
  return { tag, type: 'BigInteger', value: shortest(signed) }
}

/**
 * The magnitude of a number that must not be negative, without leading zeros (zero is one zero byte).
 * @throws KmipDecodeError `invalid_value` for a negative number
 */
export function toMagnitude(node: BigIntegerNode): Uint8Array {
  const value = shortest(node.value)
  const first = value[0] ?? 0
  if (first >= 0x80) throw new KmipDecodeError('invalid_value', 'The number must not be negative.')
  return first === 0 && value.length > 1 ? value.subarray(1) : value
}

export function enumeration(tag: number, value: number): EnumerationNode {
  return { tag, type: 'Enumeration', value }
}

export function boolean(tag: number, value: boolean): BooleanNode {
  return { tag, type: 'Boolean', value }
}

export function textString(tag: number, value: string): TextStringNode {
  return { tag, type: 'TextString', value }
}

export function byteString(tag: number, value: Uint8Array): ByteStringNode {
  return { tag, type: 'ByteString', value }
}

/** @param value whole seconds since 1970 */
export function dateTime(tag: number, value: number): DateTimeNode {
  return { tag, type: 'DateTime', value }
}

/** @param value seconds */
export function interval(tag: number, value: number): IntervalNode {
  return { tag, type: 'Interval', value }
}

/** Two's complement without repeated sign bytes: a view of the same bytes. No bytes are zero. */
export function shortest(value: Uint8Array): Uint8Array {
  if (value.length === 0) return new Uint8Array(1)
  let start = 0
  while (start < value.length - 1) {
    const first = value[start] ?? 0
    const next = value[start + 1] ?? 0
    const repeats = (first === 0 && next < 0x80) || (first === 0xff && next >= 0x80)
    if (!repeats) break
    start += 1
  }
  return value.subarray(start)
}
