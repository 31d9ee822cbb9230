import { createHash, type KeyObject, sign, verify } from 'node:crypto'

/** Public half of an ES256 key as the key sets publish it (RFC 7517, RFC 7518 §6.2.1). */
export interface PublicJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly use: 'sig'
  readonly alg: 'ES256'
  readonly kid: string
}

/** RFC 7638: the thumbprint names the key by its content. */
function thumbprint(x: string, y: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url')
}

/** @param key private or public P-256 key */
export function publicJwkOf(key: KeyObject): PublicJwk {
  const { x, y, crv } = key.export({ format: 'jwk' })
  if (x === undefined || y === undefined || crv !== 'P-256') throw new Error('not a P-256 key')
  return { kty: 'EC', crv: 'P-256', x, y, use: 'sig', alg: 'ES256', kid: thumbprint(x, y) }
}

/** The one header that tokens of this key have. Verification compares it whole: no other member can take effect. */
export function headerOf(kid: string): string {
  return Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'JWT', kid })).toString('base64url')
}

/** Compact JWS (RFC 7515 §3.1), ES256: the signature is r‖s, 64 bytes (RFC 7518 §3.4). */
export function signCompact(
  privateKey: KeyObject,
  header: string,
  claims: Readonly<Record<string, unknown>>,
): string {
  const input = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

const base64url = /^[A-Za-z0-9_-]+$/

/** Longer texts are none of ours: claims are bounded when a session begins. */
export const longestToken = 16 * 1024

/**
 * Claims of a token that one of these keys signed; undefined for anything else, without saying why.
 * @param keyOf finds the public key by the whole header segment
 */
export function verifyCompact(
  token: string,
  keyOf: (header: string) => KeyObject | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (token.length > longestToken) return undefined
  const [header, payload, signature, ...rest] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined || rest.length > 0)
    return undefined
  const key = keyOf(header)
  if (key === undefined || !base64url.test(payload) || !base64url.test(signature)) return undefined
  const bytes = Buffer.from(signature, 'base64url')
  // One text for one signature: unused bits of the last character must be zero (RFC 4648 §3.5).
  if (bytes.length !== 64 || bytes.toString('base64url') !== signature) return undefined
  const input = Buffer.from(`${header}.${payload}`)
  if (!verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, bytes)) return undefined
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Readonly<Record<string, unknown>>
}
