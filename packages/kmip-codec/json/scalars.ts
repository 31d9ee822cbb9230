import { findMask, type ItemType } from '../tables/enumerations.ts'
import {
  parseDate,
  parseEnumeration,
  parseHex,
  parseMask,
  parsePrefixed64,
  valueTag,
} from '../text/values.ts'
import { shortest } from '../ttlv/build.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import { fits, type TtlvNode } from '../ttlv/node.ts'

/**
 * Reads a JSON value other than a structure, in every accepted form.
 * @throws KmipDecodeError `invalid_value` or `unknown_enumeration`
 */
export function scalarNode(
  tag: number,
  type: Exclude<ItemType, 'Structure'>,
  value: unknown,
  attributeName: string | undefined,
): TtlvNode {
  const node = scalar(tag, type, value, attributeName)
  if (node === undefined || !fits(node))
    throw new KmipDecodeError('invalid_value', `The value is not valid for the type ${type}.`)
  return node
}

function scalar(
  tag: number,
  type: Exclude<ItemType, 'Structure'>,
  value: unknown,
  attributeName: string | undefined,
): TtlvNode | undefined {
  switch (type) {
    case 'Integer': {
      const number = readInteger(value, valueTag(tag, attributeName))
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'Interval': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: Number(number) }
    }
    case 'LongInteger':
    case 'DateTimeExtended': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'Enumeration': {
      // A mask is an Integer; `tolerances.ts` names the client that sends an Enumeration.
      if (findMask(valueTag(tag, attributeName)) !== undefined)
        return scalar(tag, 'Integer', value, attributeName)
      if (typeof value === 'number') return { tag, type, value }
      return typeof value === 'string'
        ? { tag, type, value: parseEnumeration(valueTag(tag, attributeName), value) }
        : undefined
    }
    case 'Boolean': {
      const truth = readBoolean(value)
      return truth === undefined ? undefined : { tag, type, value: truth }
    }
    case 'DateTime': {
      if (typeof value === 'number') return { tag, type, value }
      return typeof value === 'string' ? { tag, type, value: parseDate(value) } : undefined
    }
    case 'TextString':
      return typeof value === 'string' ? { tag, type, value } : undefined
    case 'ByteString':
      return typeof value === 'string' ? { tag, type, value: parseHex(value) } : undefined
    case 'BigInteger': {
      const bytes = readBigInteger(value)
      return bytes === undefined ? undefined : { tag, type, value: bytes }
    }
  }
}

function readInteger(value: unknown, meaning: number): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  const hex = parsePrefixed64(value)
  if (hex === undefined) return parseMask(meaning, value)
  // 8 digits are the 32 bits; 16 digits are sign-extended (KMIP Profiles 2.1 §5.5).
  return value.length <= 10 ? Number(BigInt.asIntN(32, hex)) : Number(hex)
}

/** A whole number that JSON represents without loss, or `0x…`. */
function wholeNumber(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  return typeof value === 'string' ? parsePrefixed64(value) : undefined
}

function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  const hex = parsePrefixed64(value)
  return hex === 0n || hex === 1n ? hex === 1n : undefined
}

function readBigInteger(value: unknown): Uint8Array | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) return undefined
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return shortest(bytes)
  }
  if (typeof value !== 'string' || !/^0x/i.test(value) || value.length === 2) return undefined
  return shortest(parseHex(value.slice(2)))
}
