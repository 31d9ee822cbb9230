import { KmipDecodeError } from '../ttlv/error.ts'
import { maximumDateTime } from '../ttlv/node.ts'
import { parsePrefixed64, prefixedHex } from './hex.ts'

const iso = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(Z|z|[+-]\d\d:?\d\d)$/

/** Seconds of the years 0000 to 9999, which RFC 3339 can write. */
const firstWritable = -62_167_219_200
const lastWritable = 253_402_300_799

/** `2026-05-29T11:57:35Z`; `0x` and 16 digits for years that RFC 3339 cannot write. */
export function dateText(seconds: number): string {
  if (seconds < firstWritable || seconds > lastWritable) return prefixedHex(BigInt(seconds), 16)
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
    // A date that does not exist (February 30th) comes back as another one.
    const real = date.getUTCMonth() === mo - 1 && date.getUTCDate() === d && h < 24 && mi < 60 && s < 60
    const offset = zoneSeconds(zone)
    if (real && offset !== undefined) return date.getTime() / 1000 - offset
  }
  const hex = parsePrefixed64(text)
  if (hex !== undefined && hex <= BigInt(maximumDateTime) && hex >= -BigInt(maximumDateTime))
    return Number(hex)
  throw new KmipDecodeError(
    'invalid_value',
    'A date is neither ISO 8601 with an offset nor 0x and hex digits.',
  )
}

function zoneSeconds(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60)
}
