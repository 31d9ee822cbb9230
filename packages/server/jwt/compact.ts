import type { KeyObject } from 'node:crypto'
import { createSignature } from './algorithms.ts'

/** A rejected token. The reason goes to the log; the caller receives only 401. */
export class JwtRejected extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'JwtRejected'
  }
}

/** Characters of a compact token at most. */
const maxTokenLength = 16 * 1024

/** A compact JWS (RFC 7515 §3.1) taken apart. Nothing of it was verified. */
interface CompactJws {
  /** First segment, as it stands. */
  readonly header: string
  /** Second segment, as it stands. */
  readonly payload: string
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

/** @throws JwtRejected for what is not three segments of base64url within the bound */
export function readCompact(compact: string): CompactJws {
  if (compact.length > maxTokenLength) throw new JwtRejected('longer than 16 KiB')
  const parts = compact.split('.')
  const [header, payload, tail] = parts
  if (parts.length !== 3 || header === undefined || payload === undefined || tail === undefined) {
    throw new JwtRejected('not three parts')
  }
  return {
    header,
    payload,
    signingInput: Buffer.from(compact.slice(0, header.length + 1 + payload.length), 'latin1'),
    signature: decodeBase64Url(tail),
  }
}

/** Last characters whose unused bits are zero, by the number of characters in the last group of four. */
const lastOfGroup: Readonly<Record<number, string>> = { 2: 'AQgw', 3: 'AEIMQUYcgkosw048' }

/**
 * Base64url without padding whose unused bits are zero (RFC 4648 §3.5), so that a token has one spelling.
 * @throws JwtRejected
 */
export function decodeBase64Url(text: string): Buffer {
  const rest = text.length % 4
  const last = lastOfGroup[rest]?.includes(text.charAt(text.length - 1)) ?? rest === 0
  if (!last || !/^[A-Za-z0-9_-]*$/.test(text)) throw new JwtRejected('bad base64url')
  return Buffer.from(text, 'base64url')
}

/** A segment of a compact token that holds JSON. */
export function encodeJsonSegment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Signs claims behind a header segment that was made before. The key must allow the algorithm. */
export function signCompact(
  algorithm: string,
  header: string,
  claims: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  const input = `${header}.${encodeJsonSegment(claims)}`
  return `${input}.${createSignature(algorithm, key, Buffer.from(input)).toString('base64url')}`
}
