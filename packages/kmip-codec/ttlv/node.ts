import type { ItemType } from '../tables/enumerations.ts'
import { isTag } from '../tables/tags.ts'

interface Item<T extends ItemType, V> {
  /** 0x42.... (the standard's) or 0x54.... (an extension). */
  readonly tag: number
  readonly type: T
  readonly value: V
}

/** Members in their order; members may repeat. */
export type StructureNode = Item<'Structure', readonly TtlvNode[]>
/** 32 bits, signed. Bit masks are Integers too. */
export type IntegerNode = Item<'Integer', number>
/** 64 bits, signed. */
export type LongIntegerNode = Item<'LongInteger', bigint>
/**
 * A whole number of any size: big-endian two's complement, at least one byte, as short as possible (decoders
 * drop repeated sign bytes, the encoder pads to a multiple of 8). Bytes rather than a bigint because they may
 * be private keys: bytes can be wiped. `toBigInteger()` and `toMagnitude()` convert from and to magnitudes.
 */
export type BigIntegerNode = Item<'BigInteger', Uint8Array>
/** 32 bits, unsigned. */
export type EnumerationNode = Item<'Enumeration', number>
export type BooleanNode = Item<'Boolean', boolean>
/** Well-formed Unicode. */
export type TextStringNode = Item<'TextString', string>
/** When decoded, it is a view of the message, not a copy. */
export type ByteStringNode = Item<'ByteString', Uint8Array>
/** Whole seconds since 1970-01-01T00:00:00Z, within the range of a JavaScript Date. */
export type DateTimeNode = Item<'DateTime', number>
/** Seconds, 32 bits, unsigned. */
export type IntervalNode = Item<'Interval', number>
/** Microseconds since 1970-01-01T00:00:00Z, 64 bits, signed. */
export type DateTimeExtendedNode = Item<'DateTimeExtended', bigint>

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
}

/** Bounds of every decoder. */
export interface DecodeLimits {
  /** Nested structures, including the root. Default and maximum: 64. */
  readonly depth?: number
  /**
   * Total number of nodes. Default 65,536: a message of 64 MiB could otherwise become millions of objects.
   */
  readonly items?: number
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
      return node.value.isWellFormed()
    case 'BigInteger':
      return node.value.length > 0
    default:
      return true
  }
}
