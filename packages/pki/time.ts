import { type DerElement, der, derTag } from './der.ts'
import { pkiError } from './error.ts'

/**
 * A Time (RFC 5280 §4.1.2.5): UTCTime for 1950 to 2049, GeneralizedTime for the other years.
 * @param at Unix milliseconds; whole seconds are kept
 */
export function derTime(at: number): Buffer {
  const digits = formatDigits(at)
  const year = Number(digits.slice(0, 4))
  return year >= 1950 && year < 2050
    ? der(derTag.utcTime, Buffer.from(`${digits.slice(2)}Z`, 'latin1'))
    : der(derTag.generalizedTime, Buffer.from(`${digits}Z`, 'latin1'))
}

/** A GeneralizedTime as RFC 5280 §4.1.2.5.2 and RFC 6960 §4.2.2.1 write it. @param at Unix milliseconds */
export function derGeneralizedTime(at: number): Buffer {
  return der(derTag.generalizedTime, Buffer.from(`${formatDigits(at)}Z`, 'latin1'))
}

function formatDigits(at: number): string {
  // Other years do not fit into four digits.
  if (!(at >= -62_167_219_200_000 && at < 253_402_300_800_000))
    throw pkiError('invalid_value', 'The year of the time must be 0 to 9999.')
  const date = new Date(at)
  const [century, year] = [Math.floor(date.getUTCFullYear() / 100), date.getUTCFullYear() % 100]
  const day = two(date.getUTCMonth() + 1) + two(date.getUTCDate())
  return (
    two(century) +
    two(year) +
    day +
    two(date.getUTCHours()) +
    two(date.getUTCMinutes()) +
    two(date.getUTCSeconds())
  )
}

/** Texts of 0 to 99: a long revocation list contains a hundred thousand times. */
const pairs = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))
function two(number: number): string {
  return pairs[number] ?? ''
}

const utcTime = /^\d{12}Z$/
const generalizedTime = /^\d{14}Z$/

/** A Time in the only form that RFC 5280 §4.1.2.5 allows. @returns Unix milliseconds @throws PkiError */
export function readTime(element: DerElement | undefined, what: string): number {
  const text = element === undefined ? '' : Buffer.from(element.content).toString('latin1')
  if (element?.tag === derTag.utcTime && utcTime.test(text)) {
    const century = Number(text.slice(0, 2)) < 50 ? '20' : '19'
    return parseDigits(century + text, what)
  }
  return readGeneralizedTime(element, what)
}

/** @returns Unix milliseconds @throws PkiError */
export function readGeneralizedTime(element: DerElement | undefined, what: string): number {
  const text = element === undefined ? '' : Buffer.from(element.content).toString('latin1')
  if (element?.tag !== derTag.generalizedTime || !generalizedTime.test(text)) throw notTime(what)
  return parseDigits(text, what)
}

function parseDigits(digits: string, what: string): number {
  const part = (from: number, to: number) => digits.slice(from, to)
  const date = `${part(0, 4)}-${part(4, 6)}-${part(6, 8)}`
  const at = Date.parse(`${date}T${part(8, 10)}:${part(10, 12)}:${part(12, 14)}.000Z`)
  // Date.parse reads the 30th of February as the 1st or 2nd of March, and 24:00 as the next day.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== date) throw notTime(what)
  return at
}

function notTime(what: string) {
  return pkiError('malformed', `${what} has a time that is not in the form of RFC 5280.`)
}
