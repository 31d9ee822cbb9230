import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { thumbprint } from '@warder/server'
import { createSignature } from '@warder/server/testing'

/** A key of an account. */
export interface AccountKey {
  readonly privateKey: KeyObject
  readonly jwk: Readonly<Record<string, unknown>>
  readonly alg: string
  readonly thumbprint: string
}

export function accountKey(type: 'ec' | 'rsa' | 'ed25519' = 'ec'): AccountKey {
  const [pair, alg] =
    type === 'ec'
      ? [generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'ES256']
      : type === 'rsa'
        ? [generateKeyPairSync('rsa', { modulusLength: 2048 }), 'RS256']
        : [generateKeyPairSync('ed25519'), 'EdDSA']
  const jwk = createPublicKey(pair.privateKey).export({ format: 'jwk' }) as Record<string, unknown>
  return { privateKey: pair.privateKey, jwk, alg, thumbprint: thumbprint(jwk) }
}

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A JWS in flattened serialization. @param payload '' for POST-as-GET; everything else as JSON */
export function signed(key: AccountKey, header: object, payload: unknown): Record<string, string> {
  const protectedText = base64url({ alg: key.alg, ...header })
  const body = payload === '' ? '' : base64url(payload)
  const signature = createSignature(key.alg, key.privateKey, Buffer.from(`${protectedText}.${body}`))
  return { protected: protectedText, payload: body, signature: signature.toString('base64url') }
}

/** The binding of an account's key (RFC 8555 §7.3.4). */
export function externalBinding(
  { kid, hmac_key }: { readonly kid: string; readonly hmac_key: string },
  jwk: unknown,
  url: string,
  header: object = {},
): Record<string, string> {
  const protectedText = base64url({ alg: 'HS256', kid, url, ...header })
  const body = base64url(jwk)
  const mac = createHmac('sha256', Buffer.from(hmac_key, 'base64url')).update(`${protectedText}.${body}`)
  return { protected: protectedText, payload: body, signature: mac.digest('base64url') }
}
