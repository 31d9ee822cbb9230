import { Buffer } from 'node:buffer'
import { KmipDecodeError } from '../ttlv/error.ts'

/** Bytes of hex digits in either case. @throws KmipDecodeError `invalid_value` */
export function parseHex(text: string): Uint8Array {
  // Buffer.from stops silently at the first wrong digit, so a short result is the test.
  const bytes = text.length % 2 === 0 ? Buffer.from(text, 'hex') : undefined
  if (bytes === undefined || bytes.length * 2 !== text.length)
    throw new KmipDecodeError('invalid_value', 'A value is not made of pairs of hex digits.')
  return bytes
}

export function upperHex(bytes: Uint8Array): string {
  return lowerHex(bytes).toUpperCase()
}

export function lowerHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** `0x` and the value in this many digits, upper case. */
export function prefixedHex(value: number | bigint, digits: number): string {
  const whole = typeof value === 'bigint' ? BigInt.asUintN(64, value) : value >>> 0
  return `0x${whole.toString(16).toUpperCase().padStart(digits, '0')}`
}

/** `0x` and up to 8 digits as an unsigned number; undefined for any other text. */
export function parsePrefixed32(text: string): number | undefined {
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

/** The bytes of a BigInteger with its sign extended to a multiple of 8, as the text forms carry it. */
export function wholeWords(value: Uint8Array): Uint8Array {
  const size = Math.ceil(value.length / 8) * 8
  const words = new Uint8Array(size).fill((value[0] ?? 0) >= 0x80 ? 0xff : 0)
  words.set(value, size - value.length)
  return words
}
