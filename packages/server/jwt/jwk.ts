import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { privateJwkMembers } from '@warder/base'
import { getKeyAlgorithms } from './algorithms.ts'
import type { VerificationKey } from './types.ts'

/** Keys taken of one set, and entries looked at; a larger set is a mistake or an attack. */
const maxKeys = 50
const maxEntries = 500
/** Values of `use` for signatures; SPIFFE bundles have their own (SPIFFE Trust Domain and Bundle §4.2.2). */
const signatureUses: ReadonlySet<unknown> = new Set([undefined, 'sig', 'jwt-svid'])

/**
 * Keys of a JWK set (RFC 7517 §5) that can verify signatures. What is malformed, symmetric, private, too weak or for
 * encryption is left out; several keys with one kid are all kept.
 */
export function readKeySet(set: unknown): readonly VerificationKey[] {
  const list = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  if (!Array.isArray(list)) throw new TypeError('not a JWK set: it has no keys array')
  const keys: VerificationKey[] = []
  for (const jwk of list.slice(0, maxEntries)) {
    const key = keys.length < maxKeys ? verificationKey(jwk) : undefined
    if (key !== undefined) keys.push(key)
  }
  return keys
}

function verificationKey(jwk: unknown): VerificationKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined
  const members = jwk as Readonly<Record<string, unknown>>
  if (privateJwkMembers.some((name) => Object.hasOwn(members, name))) return undefined
  const { kid, use, key_ops: operations, alg } = members
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > 512)) return undefined
  if (!signatureUses.has(use)) return undefined
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return undefined
  try {
    const key = createPublicKey({ key: members as never, format: 'jwk' })
    const allowed = getKeyAlgorithms(key)
    const algorithms = alg === undefined ? allowed : restrictAlgorithms(allowed, alg)
    return algorithms.length === 0 ? undefined : { kid, key, algorithms }
  } catch {
    return undefined
  }
}

/** A key that names an algorithm is used with that one alone; EdDSA and Ed25519 are one (RFC 9864 §2.2). */
function restrictAlgorithms(allowed: readonly string[], alg: unknown): readonly string[] {
  if (alg === 'EdDSA' || alg === 'Ed25519') return allowed.filter((one) => one.startsWith('Ed'))
  return allowed.filter((one) => one === alg)
}

/** A public signature key as a JWK: `kid` is the RFC 7638 thumbprint, `use` sig, `alg` where the key has just one. */
export function publicJwk(key: KeyObject): Readonly<Record<string, string>> {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  const jwk = publicKey.export({ format: 'jwk' }) as Record<string, string>
  const [algorithm] = getKeyAlgorithms(publicKey)
  return {
    ...jwk,
    kid: thumbprint(jwk),
    use: 'sig',
    ...(publicKey.asymmetricKeyType === 'rsa' || algorithm === undefined ? {} : { alg: algorithm }),
  }
}

const required: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  RSA: ['e', 'kty', 'n'],
  OKP: ['crv', 'kty', 'x'],
}

/** SHA-256 over the required members in lexical order, base64url (RFC 7638 §3, RFC 8037 §2). */
export function thumbprint(jwk: Readonly<Record<string, unknown>>): string {
  const names = required[String(jwk.kty)]
  if (names === undefined) throw new TypeError(`no thumbprint for kty ${String(jwk.kty)}`)
  const canonical = JSON.stringify(Object.fromEntries(names.map((name) => [name, jwk[name]])))
  return createHash('sha256').update(canonical).digest('base64url')
}
