import { createHash } from 'node:crypto'
import {
  decodeMembers,
  encodeTtlv,
  findEnumeration,
  findMember,
  Tag,
  tagByName,
  valueByName,
} from '@warder/kmip-codec'
import type { StoredValue } from './attribute-table.ts'
import { dateIn } from './object-attributes.ts'

/** Time for which a client may use an object without getting it again, in seconds (KMIP 2.1 §4.30). */
export const defaultLease = 3600

/** Common values of attributes: only other values have rows. */
const commonValues: ReadonlyMap<string, number | boolean> = new Map<string, number | boolean>([
  ['Sensitive', false],
  ['AlwaysSensitive', false],
  ['Extractable', true],
  ['NeverExtractable', false],
  ['Fresh', true],
  ['LeaseTime', defaultLease],
])

/** The value that an object has without a row; undefined for attributes that it then does not have. */
export function commonValue(name: string): number | boolean | undefined {
  return commonValues.get(name)
}

const maxTextBytes = 1024

/** Converts text for an index: unchanged if it is short, else its SHA-256. PostgreSQL does not permit NUL in text. */
export function toIndexText(text: string): string {
  if (!text.includes('\u0000') && Buffer.byteLength(text) <= maxTextBytes) return text
  return `sha256:${createHash('sha256').update(text).digest('base64url')}`
}

/** The name of an enumeration's value depends on the name of the attribute: its number is found by decoding both. */
export function vendorValue(attribute: StoredValue, value: StoredValue): string {
  if (value.type !== 'Enumeration') return indexValue(value)
  const [node] = decodeMembers(Tag.Attributes, [attribute]).value
  const held = node?.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
  return String(held?.value)
}

/** Index name for the values of a member of a structure. */
export function memberIndexName(attribute: string, member: string): string {
  return `${attribute}.${member}`
}

/** Index name for the values of a vendor's attribute. */
export function vendorIndexName(vendor: string, name: string): string {
  return toIndexText(`Attribute ${JSON.stringify([vendor, name])}`)
}

/** Seconds that make every date positive: the range of a DateTime. */
const dateOffset = 8_640_000_000_000
const dateDigits = 14

/** The text by which a date is found: digits that sort by time. @param at Unix seconds */
export function indexDate(at: number): string {
  return String(at + dateOffset).padStart(dateDigits, '0')
}

/**
 * The index text of a value, the same for equal values: numbers and short text unchanged, dates as digits that sort by
 * time, other values as the SHA-256 of their TTLV.
 */
export function indexValue(stored: StoredValue): string {
  const { tag, type, value } = stored
  switch (type) {
    case 'DateTime':
      return indexDate(dateIn(String(value)) / 1000)
    case 'Integer':
    case 'Interval':
    case 'Boolean':
      return String(value)
    case 'Enumeration':
      return String(enumerationNumber(tag, String(value)))
    case 'LongInteger':
      return String(BigInt.asIntN(64, BigInt(String(value))))
    case 'TextString':
      return `=${toIndexText(String(value))}`
    case 'ByteString':
      return digestText(byteStringTtlv(tag, Buffer.from(String(value), 'hex')))
    default: {
      const [node] = decodeMembers(Tag.Attributes, [stored]).value
      return digestText(node === undefined ? new Uint8Array() : encodeTtlv(node))
    }
  }
}

function digestText(bytes: Uint8Array): string {
  return `#${createHash('sha256').update(bytes).digest('base64url')}`
}

/** KMIP 2.1 §9.1: tag, type, length, and the bytes filled up to a multiple of 8. */
function byteStringTtlv(tag: string, bytes: Uint8Array): Uint8Array {
  const item = Buffer.alloc(8 + Math.ceil(bytes.length / 8) * 8)
  item.writeUIntBE(tagByName(tag) ?? 0, 0, 3)
  item.writeUInt8(8, 3)
  item.writeUInt32BE(bytes.length, 4)
  item.set(bytes, 8)
  return item
}

export function enumerationNumber(tag: string, name: string): number {
  const enumeration = findEnumeration(tagByName(tag) ?? 0)
  const known = enumeration === undefined ? undefined : valueByName(enumeration, name)
  return known ?? Number(name)
}
