import type { KeyObject } from 'node:crypto'
import {
  decodeBase64Url,
  encodeJsonSegment,
  JwtRejected,
  publicJwk,
  readCompact,
  verifySignature,
} from '@warder/server'

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

/** @param key private or public P-256 key */
export function toPublicJwk(key: KeyObject): PublicJwk {
  const jwk = publicJwk(key)
  if (jwk.crv !== 'P-256') throw new Error('not a P-256 key')
  return jwk as unknown as PublicJwk
}

/** The only header of tokens of this key. Verification compares it as a whole, so no other member can take effect. */
export function formatHeader(kid: string): string {
  return encodeJsonSegment({ alg: es256, typ: 'JWT', kid })
}

/** Algorithm of session tokens. */
export const es256 = 'ES256'
const verifiable = { algorithms: [es256] }

/**
 * Returns the claims of a token that one of these keys signed; undefined for anything else, without a reason.
 * @param keyOf finds the public P-256 key by the whole header segment
 */
export function verifyCompact(
  token: string,
  keyOf: (header: string) => KeyObject | undefined,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const { header, payload, signingInput, signature } = readCompact(token)
    const key = keyOf(header)
    if (key === undefined) return undefined
    if (!verifySignature(es256, { ...verifiable, key }, signingInput, signature)) return undefined
    return JSON.parse(decodeBase64Url(payload).toString('utf8')) as Readonly<Record<string, unknown>>
  } catch (error) {
    if (error instanceof JwtRejected) return undefined
    throw error
  }
}
