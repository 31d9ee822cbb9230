import { Buffer } from 'node:buffer'
import { attributeByLegacyName } from './tables/attributes.ts'
import { isDraftValue } from './tables/draft.ts'
import {
  type EnumerationName,
  findEnumeration,
  findMask,
  maskValueNames,
  valueByName,
  valueName,
} from './tables/enumerations.ts'
import { Tag } from './tables/tags.gen.ts'
import { tagByName, tagName } from './tables/tags.ts'
import { KmipDecodeError } from './ttlv/error.ts'
import { type DecodeLimits, maximumDateTime, maximumDepth, maximumItems, type TtlvNode } from './ttlv/node.ts'

// Text forms of values in JSON and XML: names, numbers, bytes, dates.

/** Tags whose enumeration values are tags themselves (KMIP 2.1 §5.5, §10.1.1). */
function holdsTags(tag: number): boolean {
  return tag === Tag.AttributeReference || tag === Tag.Tag
}

/**
 * The tag that determines the type of values in `AttributeValue`: in 1.x it is given by the AttributeName
 * beside it (`Cryptographic Algorithm`); vendor attributes have none.
 */
export function valueTag(tag: number, attributeName: string | undefined): number {
  if (tag !== Tag.AttributeValue || attributeName === undefined) return tag
  return attributeByLegacyName(attributeName)?.tag ?? tag
}

/** The AttributeName among these siblings, for `valueTag`. */
export function attributeNameAmong(siblings: readonly TtlvNode[]): string | undefined {
  for (const node of siblings)
    if (node.tag === Tag.AttributeName && node.type === 'TextString') return node.value
  return undefined
}

/** The name of an enumeration value under this tag; `0x` and 8 digits when it has none. */
export function enumerationText(tag: number, value: number, draft = false): string {
  if (holdsTags(tag)) return tagName(value, draft) ?? formatHex(value, 8)
  const enumeration = findEnumeration(tag)
  if (enumeration !== undefined && !draft && isDraftValue(enumeration, value)) return formatHex(value, 8)
  return (enumeration && valueName(enumeration, value)) ?? formatHex(value, 8)
}

/**
 * The value of a name in any spelling, or of `0x` and up to 8 digits.
 * @throws KmipDecodeError `unknown_enumeration`
 */
export function parseEnumeration(tag: number, text: string, draft = false): number {
  const hex = parsePrefixed32(text)
  if (hex !== undefined) return hex
  const value = holdsTags(tag) ? findReferencedTag(text, draft) : findValue(findEnumeration(tag), text, draft)
  if (value === undefined)
    throw new KmipDecodeError('unknown_enumeration', 'An enumeration value has an unknown name.')
  return value
}

function findReferencedTag(text: string, draft: boolean): number | undefined {
  return tagByName(text, draft) ?? attributeByLegacyName(text)?.tag
}

function findValue(
  enumeration: EnumerationName | undefined,
  text: string,
  draft: boolean,
): number | undefined {
  if (enumeration === undefined) return undefined
  const value = valueByName(enumeration, text)
  return value !== undefined && !draft && isDraftValue(enumeration, value) ? undefined : value
}

/** The names of the bits of a mask, joined; undefined if the Integer is not a mask or a bit has no name. */
export function maskText(tag: number, value: number, separator: string): string | undefined {
  const mask = findMask(tag)
  if (mask === undefined || value === 0) return undefined
  return maskValueNames(mask, value)?.join(separator)
}

/**
 * Parses names of bits, separated by spaces or `|`, each in any spelling or as a number (also `0x…`).
 * Undefined if the Integer is not a mask or a name is unknown.
 */
export function parseMask(tag: number, text: string): number | undefined {
  const mask = findMask(tag)
  if (mask === undefined || text.length > 2048) return undefined
  let bits = 0
  for (const name of text.split(/[\s|]+/)) {
    if (name === '') continue
    const value = valueByName(mask, name) ?? parsePrefixed32(name)
    if (value === undefined) return undefined
    bits |= value
  }
  return bits
}

/** Decodes hex digits in either case. @throws KmipDecodeError `invalid_value` */
export function parseHex(text: string): Uint8Array {
  // Buffer.from stops silently at the first wrong digit: the result is then too short.
  const bytes = text.length % 2 === 0 ? Buffer.from(text, 'hex') : undefined
  if (bytes === undefined || bytes.length * 2 !== text.length)
    throw new KmipDecodeError('invalid_value', 'A value must consist of pairs of hex digits.')
  return bytes
}

export function upperHex(bytes: Uint8Array): string {
  return lowerHex(bytes).toUpperCase()
}

export function lowerHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** `0x` and the value in this many digits, upper case. */
export function formatHex(value: number | bigint, digits: number): string {
  const whole = typeof value === 'bigint' ? BigInt.asUintN(64, value) : value >>> 0
  return `0x${whole.toString(16).toUpperCase().padStart(digits, '0')}`
}

/** `0x` and up to 8 digits as an unsigned number; undefined for any other text. */
function parsePrefixed32(text: string): number | undefined {
  if (text.charCodeAt(0) !== 0x30) return undefined
  return /^0x[0-9a-f]{1,8}$/i.test(text) ? Number.parseInt(text.slice(2), 16) : undefined
}

/**
 * `0x` and up to 16 digits as a 64-bit two's complement number; up to 8 digits are a 32-bit unsigned one.
 * undefined for any other text.
 */
export function parsePrefixed64(text: string): bigint | undefined {
  if (text.charCodeAt(0) !== 0x30) return undefined
  return /^0x[0-9a-f]{1,16}$/i.test(text) ? BigInt.asIntN(64, BigInt(text)) : undefined
}

/** The bytes of a BigInteger, sign-extended to a multiple of 8 as in the text encodings. */
export function wholeWords(value: Uint8Array): Uint8Array {
  const size = Math.ceil(value.length / 8) * 8
  const words = new Uint8Array(size).fill((value[0] ?? 0) >= 0x80 ? 0xff : 0)
  words.set(value, size - value.length)
  return words
}

const iso = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(Z|z|[+-]\d\d:?\d\d)$/

/** Seconds of the years 0000 to 9999, which RFC 3339 can write. */
const firstWritable = -62_167_219_200
const lastWritable = 253_402_300_799

/** `2026-05-29T11:57:35Z`; `0x` and 16 digits for years that RFC 3339 cannot write. */
export function dateText(seconds: number): string {
  if (seconds < firstWritable || seconds > lastWritable) return formatHex(BigInt(seconds), 16)
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/**
 * ISO 8601 with an offset (fractions of seconds are dropped) or `0x` and seconds since 1970.
 * @throws KmipDecodeError `invalid_value`
 */
export function parseDate(text: string): number {
  const parts = text.length <= 40 ? iso.exec(text) : null
  if (parts !== null) {
    const [, year, month, day, hour, minute, second, zone = 'Z'] = parts.map((part) => part)
    const numbers = [year, month, day, hour, minute, second].map(Number)
    const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = numbers
    const date = new Date(0)
    date.setUTCFullYear(y, mo - 1, d)
    date.setUTCHours(h, mi, s)
    // A date that does not exist (February 30th) is parsed as another one.
    const real = date.getUTCMonth() === mo - 1 && date.getUTCDate() === d && h < 24 && mi < 60 && s < 60
    const offset = zoneSeconds(zone)
    if (real && offset !== undefined) return date.getTime() / 1000 - offset
  }
  const hex = parsePrefixed64(text)
  if (hex !== undefined && hex <= BigInt(maximumDateTime) && hex >= -BigInt(maximumDateTime))
    return Number(hex)
  throw new KmipDecodeError('invalid_value', 'A date must be ISO 8601 with an offset, or 0x and hex digits.')
}

function zoneSeconds(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60)
}

/** Counts items and nesting levels of one message during its decoding. */
export class Budget {
  readonly depth: number
  #itemsLeft: number

  constructor(limits: DecodeLimits) {
    this.depth = Math.min(limits.depth ?? maximumDepth, maximumDepth)
    this.#itemsLeft = limits.items ?? maximumItems
  }

  /** Refuses a list that exceeds the remaining budget, before it is decoded. */
  refuseBeyond(items: number): void {
    if (items > this.#itemsLeft)
      throw new KmipDecodeError('too_many_items', 'The message contains too many items.')
  }

  /** Called for every item. @throws KmipDecodeError `too_deep` or `too_many_items` */
  take(depth: number): void {
    if (depth > this.depth) throw new KmipDecodeError('too_deep', 'The message is nested too deep.')
    this.#itemsLeft -= 1
    if (this.#itemsLeft < 0)
      throw new KmipDecodeError('too_many_items', 'The message contains too many items.')
  }
}
