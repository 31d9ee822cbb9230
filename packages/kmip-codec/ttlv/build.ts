import { KmipDecodeError } from './error.ts'
import type {
  BigIntegerNode,
  BooleanNode,
  ByteStringNode,
  DateTimeNode,
  EnumerationNode,
  IntegerNode,
  IntervalNode,
  LongIntegerNode,
  StructureNode,
  TextStringNode,
  TtlvNode,
} from './node.ts'

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
