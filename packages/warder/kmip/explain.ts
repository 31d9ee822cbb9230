import type { Buffer } from 'node:buffer'
import {
  attributeByLegacyName,
  findEnumeration,
  findMask,
  maskValueNames,
  Tag,
  tagName,
  tagText,
  valueName,
} from '@warder/kmip-codec'

/** Position in one level of the structure. */
interface Level {
  readonly end: number
  readonly indent: number
  /** The AttributeName beside an AttributeValue (1.x), which determines the meaning of enumerations. */
  attributeName: string | undefined
}

const typeNames: Readonly<Record<number, string>> = {
  1: 'Structure',
  2: 'Integer',
  3: 'LongInteger',
  4: 'BigInteger',
  5: 'Enumeration',
  6: 'Boolean',
  7: 'TextString',
  8: 'ByteString',
  9: 'DateTime',
  10: 'Interval',
  11: 'DateTimeExtended',
}
const fixedLengths: Readonly<Record<number, number>> = { 2: 4, 3: 8, 5: 4, 6: 8, 9: 8, 10: 4, 11: 8 }

/** Tags whose values are keys or passwords. */
const secrets: ReadonlySet<number> = new Set([
  Tag.KeyMaterial,
  Tag.Key,
  Tag.Password,
  Tag.D,
  Tag.P,
  Tag.Q,
  Tag.X,
  Tag.PrivateExponent,
  Tag.PrimeExponentP,
  Tag.PrimeExponentQ,
  Tag.CRTCoefficient,
  Tag.OneTimePassword,
])

const maxShownBytes = 64
const maxDepth = 64
const maxLines = 10_000

export interface ExplainOptions {
  /** Also prints key material and passwords. */
  readonly showSecrets: boolean
}

export interface Explanation {
  readonly lines: readonly string[]
  /** Errors in the bytes. */
  readonly problems: readonly string[]
}

/**
 * Decodes binary TTLV as text, one item per line: offset, name, type, value. Meant for bytes that a client or a server
 * rejects: it continues after errors at which a decoder stops, and reports each error with its offset.
 */
export function explain(bytes: Buffer, options: ExplainOptions): Explanation {
  const reading: Reading = { bytes, options, lines: [], problems: [] }
  readItems(reading, 0, { end: bytes.length, indent: 0, attributeName: undefined })
  const { lines, problems } = reading
  return { lines, problems }
}

/** The bytes, and the explanation as it grows. */
interface Reading {
  readonly bytes: Buffer
  readonly options: ExplainOptions
  readonly lines: string[]
  readonly problems: string[]
}

interface Header {
  readonly tag: number
  readonly type: number
  /** As the header states it. */
  readonly length: number
}

function addProblem({ problems }: Reading, at: number, sentence: string): void {
  problems.push(`at byte ${at}: ${sentence}`)
}

function readItems(reading: Reading, start: number, level: Level): void {
  let at = start
  while (at < level.end && reading.lines.length < maxLines) {
    if (level.end - at < 8) {
      addProblem(reading, at, `only ${level.end - at} bytes are left, but an item header has 8`)
      return
    }
    at = readItem(reading, at, level)
  }
}

/** @returns the offset of the next item */
function readItem(reading: Reading, at: number, level: Level): number {
  const { bytes, lines, options } = reading
  const header = readHeader(reading, at)
  const { tag, type, length } = header
  const begin = at + 8
  const available = Math.min(length, level.end - begin)
  if (available < length)
    addProblem(
      reading,
      at + 4,
      `the length is ${length}, but only ${Math.max(0, available)} bytes are left in the enclosing structure`,
    )
  const head = `${String(at).padStart(5)}  ${'  '.repeat(level.indent)}${tagText(tag)}`
  if (type === 1) {
    lines.push(`${head}  (${length} bytes)`)
    const inner = { end: begin + available, indent: level.indent + 1, attributeName: undefined }
    if (inner.indent >= maxDepth) addProblem(reading, at, `structures are nested more than ${maxDepth} deep`)
    else readItems(reading, begin, inner)
    return begin + length
  }
  const value = bytes.subarray(begin, begin + available)
  const padded = Math.ceil(length / 8) * 8
  lines.push(`${head}  ${typeNames[type] ?? `type ${type}`}  ${formatValue(header, value, level, options)}`)
  if (bytes.subarray(begin + available, Math.min(begin + padded, level.end)).some((byte) => byte !== 0))
    addProblem(reading, begin + length, 'the padding is not zero')
  if (tag === Tag.AttributeName && type === 7) level.attributeName = value.toString('utf8')
  return begin + padded
}

/** Reports tags, types and lengths that the standard does not have. */
function readHeader(reading: Reading, at: number): Header {
  const { bytes } = reading
  const tag = bytes.readUIntBE(at, 3)
  const type = bytes.readUInt8(at + 3)
  const length = bytes.readUInt32BE(at + 4)
  if (tagName(tag) === undefined && tag >>> 16 !== 0x54)
    addProblem(reading, at, `${tagText(tag)} is not a tag of the standard`)
  const typeName = typeNames[type]
  if (typeName === undefined) addProblem(reading, at + 3, `${type} is not a type`)
  const expected = fixedLengths[type]
  if (expected !== undefined && length !== expected)
    addProblem(reading, at + 4, `${typeName} has length ${length}, not ${expected}`)
  if (type === 1 && length % 8 !== 0)
    addProblem(reading, at + 4, `the length ${length} of a structure is not a multiple of 8`)
  return { tag, type, length }
}

function formatValue(
  { tag, type }: Header,
  value: Buffer,
  level: Level,
  { showSecrets }: ExplainOptions,
): string {
  if (value.length < (fixedLengths[type] ?? 0)) return `${value.toString('hex')} (cut off)`
  switch (type) {
    case 2:
      return formatInteger(tag, value.readInt32BE(0))
    case 3:
      return String(value.readBigInt64BE(0))
    case 5:
      return formatEnumeration(tag, value.readUInt32BE(0), level.attributeName)
    case 6:
      return formatBoolean(value.readBigUInt64BE(0))
    case 7:
      return secrets.has(tag) && !showSecrets ? formatHidden(value) : JSON.stringify(value.toString('utf8'))
    case 9:
      return formatDate(value.readBigInt64BE(0))
    case 10:
      return `${value.readUInt32BE(0)} seconds`
    case 11:
      return `${value.readBigInt64BE(0)} microseconds since 1970`
    default:
      return secrets.has(tag) && !showSecrets ? formatHidden(value) : formatBytes(value)
  }
}

function formatHidden(value: Buffer): string {
  return `${value.length} bytes, secret (--show-secrets prints them)`
}

function formatBytes(value: Buffer): string {
  const hex = value.subarray(0, maxShownBytes).toString('hex')
  return `${hex === '' ? 'empty' : hex}${value.length > maxShownBytes ? '…' : ''} (${value.length} bytes)`
}

function formatInteger(tag: number, value: number): string {
  const mask = findMask(tag)
  const names = mask === undefined ? undefined : maskValueNames(mask, value)
  return names === undefined || names.length === 0 ? String(value) : `${value} = ${names.join(' | ')}`
}

function formatEnumeration(tag: number, value: number, attributeName: string | undefined): string {
  const meaning = tag === Tag.AttributeValue ? (attributeByLegacyName(attributeName ?? '')?.tag ?? tag) : tag
  const enumeration = findEnumeration(meaning)
  const name =
    meaning === Tag.AttributeReference || meaning === Tag.Tag
      ? tagName(value)
      : enumeration && valueName(enumeration, value)
  return `${name ?? 'unknown value'} (0x${value.toString(16)})`
}

function formatBoolean(value: bigint): string {
  return value === 0n ? 'false' : value === 1n ? 'true' : `neither true nor false (${value})`
}

function formatDate(seconds: bigint): string {
  const date = new Date(Number(seconds) * 1000)
  return Number.isNaN(date.getTime())
    ? `${seconds} seconds since 1970`
    : date.toISOString().replace('.000Z', 'Z')
}
