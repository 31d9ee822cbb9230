import { constants, type KeyObject, sign, verify } from 'node:crypto'
import type { VerificationKey } from './types.ts'

/** How a JWS algorithm (RFC 7518 §3.1, RFC 8037, RFC 9864) is carried out with `node:crypto`. */
interface SignatureScheme {
  readonly hash: string | null
  readonly padding?: number
  readonly saltLength?: number
  readonly dsaEncoding?: 'ieee-p1363'
}

const pss = (hash: string): SignatureScheme => ({
  hash,
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
})
const ecdsa = (hash: string): SignatureScheme => ({ hash, dsaEncoding: 'ieee-p1363' })

const schemes: Readonly<Record<string, SignatureScheme>> = {
  RS256: { hash: 'sha256', padding: constants.RSA_PKCS1_PADDING },
  RS384: { hash: 'sha384', padding: constants.RSA_PKCS1_PADDING },
  RS512: { hash: 'sha512', padding: constants.RSA_PKCS1_PADDING },
  PS256: pss('sha256'),
  PS384: pss('sha384'),
  PS512: pss('sha512'),
  ES256: ecdsa('sha256'),
  ES384: ecdsa('sha384'),
  ES512: ecdsa('sha512'),
  EdDSA: { hash: null },
  Ed25519: { hash: null }, // the same by its later name
}

const byCurve: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}
const smallestRsaBits = 2048
/** A larger one only costs time, and whoever writes a key set would choose how much. */
const largestRsaBits = 8192

/**
 * Algorithms that a key's own type and size allow. A token's `alg` only chooses among these, so that a public key can
 * never be taken for an HMAC secret.
 */
export function algorithmsOf(key: KeyObject): readonly string[] {
  const known = asked.get(key)
  if (known !== undefined) return known
  const algorithms = algorithmsByType(key)
  asked.set(key, algorithms)
  return algorithms
}

/** Asking a key for its details costs as much as other steps of a signature. */
const asked = new WeakMap<KeyObject, readonly string[]>()

function algorithmsByType(key: KeyObject): readonly string[] {
  const details = key.asymmetricKeyDetails
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (!isSoundRsa(details?.modulusLength ?? 0, details?.publicExponent ?? 0n)) return []
      return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
    case 'ec': {
      const algorithm = byCurve[details?.namedCurve ?? '']
      return algorithm === undefined ? [] : [algorithm]
    }
    case 'ed25519':
      return ['EdDSA', 'Ed25519']
    default:
      return []
  }
}

/** With an exponent of 1 every padded digest is its own signature; the usual ones are 3 and 65537. */
function isSoundRsa(bits: number, exponent: bigint): boolean {
  return bits >= smallestRsaBits && bits <= largestRsaBits && exponent >= 3n && exponent < 2n ** 33n
}

/**
 * Whether the signature is right; false for any wrong one, whatever its length, and for an algorithm that the key does
 * not allow: `algorithms` are those that `algorithmsOf` named, or fewer.
 */
export function verifySignature(
  algorithm: string,
  { key, algorithms }: Pick<VerificationKey, 'key' | 'algorithms'>,
  input: Uint8Array,
  signature: Uint8Array,
): boolean {
  const scheme = schemes[algorithm]
  if (scheme === undefined || !algorithms.includes(algorithm)) return false
  const { hash, ...options } = scheme
  try {
    return verify(hash, input, { key, ...options }, signature)
  } catch {
    return false
  }
}

/** A signature in JOSE's form (ECDSA as r‖s). */
export function createSignature(algorithm: string, key: KeyObject, input: Uint8Array): Buffer {
  const scheme = schemes[algorithm]
  if (scheme === undefined || !algorithmsOf(key).includes(algorithm)) {
    throw new Error(`a ${key.asymmetricKeyType} key does not sign ${algorithm}`)
  }
  const { hash, ...options } = scheme
  return sign(hash, input, { key, ...options })
}
