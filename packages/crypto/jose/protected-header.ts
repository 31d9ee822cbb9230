import { BoundedMap, failure, parseStrictObject } from '@warder/base'
import { type Base64Url, decodeBase64Url, encodeBase64Url } from './base64url.ts'

/** Header members that change the meaning of others; Warder understands none of them (RFC 7515 §4.1.11). */
const refused = ['crit', 'zip', 'b64'] as const
const maxHeaderLength = 16_384

export interface JweHeader {
  readonly alg: string
  readonly enc: string
  readonly kid: string
}

export interface JwsHeader {
  readonly alg: string
  readonly kid: string
}

/**
 * Reads a JWE protected header: strict base64url, one JSON object, no member twice, `alg`, `enc` and `kid` as texts.
 * @throws failure('bad_request')
 */
export function readJweHeader(text: string): JweHeader {
  const known = jweHeaders.get(text)
  if (known !== undefined) return known
  const header = readHeader(text)
  const read = { alg: member(header, 'alg'), enc: member(header, 'enc'), kid: member(header, 'kid') }
  return remember(text, read)
}

/**
 * Cache of parsed headers: those of one key have the same text. They contain nothing secret, only valid ones are
 * cached, and their number and length are bounded.
 */
const jweHeaders = new BoundedMap<string, JweHeader>(4096)
const maxRememberedLength = 512

function remember(text: string, header: JweHeader): JweHeader {
  if (text.length <= maxRememberedLength) jweHeaders.set(text, header)
  return header
}

/** Members that only the protected header may have: how the message is read, and with which key. */
const protectedOnly = ['alg', 'enc', 'kid', ...refused] as const

/**
 * Members of a JWE outside of its protected header (RFC 7516 §7.2.1), whose integrity is not protected.
 * @throws failure('bad_request') for one that has to be protected, or that is there twice
 */
export function readUnprotected(
  shared: Readonly<Record<string, unknown>> = {},
  own: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  for (const header of [shared, own]) {
    for (const name of protectedOnly) {
      if (Object.hasOwn(header, name))
        throw failure('bad_request', `The header member '${name}' must be only in 'protected'.`)
    }
  }
  const twice = Object.keys(own).find((name) => Object.hasOwn(shared, name))
  if (twice !== undefined) throw failure('bad_request', 'A member of the unprotected header appears twice.')
  return { ...shared, ...own }
}

/** Reads a JWS protected header with `alg` and `kid`. @throws failure('bad_request') */
export function readJwsHeader(text: string): JwsHeader {
  const header = readHeader(text)
  return { alg: member(header, 'alg'), kid: member(header, 'kid') }
}

/** Members in the order `alg, enc, kid`, then those of the key management. */
export function jweHeader(
  alg: string,
  enc: string,
  kid: string,
  members?: Readonly<Record<string, unknown>>,
): Base64Url {
  const more = members === undefined ? '' : JSON.stringify(members).slice(1, -1)
  const rest = more === '' ? '}' : `,${more}}`
  return encodeBase64Url(Buffer.from(`{"alg":"${alg}","enc":"${enc}","kid":${JSON.stringify(kid)}${rest}`))
}

/** Members in the order `alg, kid`. */
export function jwsHeader(alg: string, kid: string): Base64Url {
  return encodeBase64Url(Buffer.from(`{"alg":"${alg}","kid":${JSON.stringify(kid)}}`))
}

function readHeader(text: string): Readonly<Record<string, unknown>> {
  if (text.length > maxHeaderLength) throw failure('bad_request', "'protected' is too long.")
  const header = parseStrictObject(decodeBase64Url(text, 'protected'))
  if (header === undefined) {
    throw failure('bad_request', "'protected' is not a JSON object without repeated members in base64url.")
  }
  for (const name of refused) {
    if (Object.hasOwn(header, name))
      throw failure('bad_request', `The header member '${name}' is not supported.`)
  }
  return header
}

function member(header: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(header, name) ? header[name] : undefined
  if (typeof value !== 'string' || value === '') throw failure('bad_request', `The header has no '${name}'.`)
  return value
}
