import { failure } from '@warder/foundation/errors'
import type { HmacHash } from './hmac.ts'
import type { MaterialAlgorithm } from './material.ts'
import type { OaepHash } from './oaep-decode.ts'
import type { RsaHash, RsaScheme } from './rsa-signature.ts'

/** Families of key that a JOSE `kty` names. */
export type KeyType = 'oct' | 'RSA' | 'EC' | 'OKP' | 'AKP'

interface Common {
  readonly kty: KeyType
  readonly material: MaterialAlgorithm
  /** false: not in FIPS builds. */
  readonly fips: boolean
}

export type SignatureAlgorithm = Common & { readonly use: 'signature' } & (
    | { readonly scheme: RsaScheme; readonly hash: RsaHash }
    | {
        readonly scheme: 'ecdsa'
        readonly hash: RsaHash
        readonly curve: string
        readonly signatureBytes: number
      }
    | { readonly scheme: 'eddsa' }
    | { readonly scheme: 'ml-dsa' }
  )
export type KeyManagementAlgorithm = Common & { readonly use: 'key management'; readonly oaepHash: OaepHash }
export type ContentEncryption = Common & {
  readonly use: 'content encryption'
  readonly bits: 128 | 192 | 256
}
export type MacAlgorithm = Common & {
  readonly use: 'mac'
  readonly hash: HmacHash
  readonly bits: 256 | 384 | 512
}
export type Algorithm = SignatureAlgorithm | KeyManagementAlgorithm | ContentEncryption | MacAlgorithm

const rsa = { kty: 'RSA', material: 'RSA', fips: true } as const
const rsaSignature = (scheme: RsaScheme, hash: RsaHash): SignatureAlgorithm => ({
  ...rsa,
  use: 'signature',
  scheme,
  hash,
})
const ecdsa = (hash: RsaHash, curve: string, signatureBytes: number): SignatureAlgorithm => ({
  kty: 'EC',
  material: 'EC',
  fips: true,
  use: 'signature',
  scheme: 'ecdsa',
  hash,
  curve,
  signatureBytes,
})
const gcm = (bits: 128 | 192 | 256): ContentEncryption => ({
  kty: 'oct',
  material: 'AES',
  fips: true,
  use: 'content encryption',
  bits,
})
const hmac = (hash: HmacHash, bits: 256 | 384 | 512): MacAlgorithm => ({
  kty: 'oct',
  material: 'HMAC',
  fips: true,
  use: 'mac',
  hash,
  bits,
})

/** The closed table of JOSE names (RFC 7518, RFC 8037, RFC 9964): whatever is not in it is not supported. */
export const algorithms: Readonly<Record<string, Algorithm>> = Object.freeze({
  __proto__: null as never,
  'RSA-OAEP': { ...rsa, use: 'key management', oaepHash: 'SHA-1' },
  'RSA-OAEP-256': { ...rsa, use: 'key management', oaepHash: 'SHA-256' },
  A128GCM: gcm(128),
  A192GCM: gcm(192),
  A256GCM: gcm(256),
  RS256: rsaSignature('pkcs1', 'sha256'),
  RS384: rsaSignature('pkcs1', 'sha384'),
  RS512: rsaSignature('pkcs1', 'sha512'),
  PS256: rsaSignature('pss', 'sha256'),
  PS384: rsaSignature('pss', 'sha384'),
  PS512: rsaSignature('pss', 'sha512'),
  ES256: ecdsa('sha256', 'P-256', 64),
  ES384: ecdsa('sha384', 'P-384', 96),
  ES512: ecdsa('sha512', 'P-521', 132),
  EdDSA: { kty: 'OKP', material: 'Ed25519', fips: false, use: 'signature', scheme: 'eddsa' },
  MLDSA44: { kty: 'AKP', material: 'ML-DSA-44', fips: false, use: 'signature', scheme: 'ml-dsa' },
  HS256: hmac('sha256', 256),
  HS384: hmac('sha384', 384),
  HS512: hmac('sha512', 512),
})

/** One name for each algorithm: `ML-DSA-44` is `MLDSA44`. */
export function canonicalName(name: string): string {
  return name === 'ML-DSA-44' ? 'MLDSA44' : name
}

/**
 * The algorithm of this name for this use. In FIPS mode what is not for FIPS is unknown: the one place that says so,
 * for REST and KMIP alike.
 * @throws failure('unsupported_algorithm')
 */
export function algorithmFor<Use extends Algorithm['use']>(
  use: Use,
  name: string,
  policy: { readonly fips: boolean },
): Extract<Algorithm, { readonly use: Use }> {
  const found = algorithms[canonicalName(name)]
  if (found === undefined || found.use !== use || (policy.fips && !found.fips)) throw unsupported(use, name)
  return found as Extract<Algorithm, { readonly use: Use }>
}

const what: Readonly<Record<Algorithm['use'], string>> = {
  signature: 'signature algorithm',
  'key management': 'key management algorithm',
  'content encryption': 'content encryption',
  mac: 'MAC algorithm',
}

function unsupported(use: Algorithm['use'], name: string) {
  return failure(
    'unsupported_algorithm',
    `'${name.slice(0, 64)}' is not a ${what[use]} that is supported here.`,
  )
}

/** JWK `key_ops` (RFC 7517 §4.3) of a key that is bound to this algorithm, or to none of its type. */
export function keyOpsOf(name: string | undefined): readonly string[] {
  const use = name === undefined ? 'signature' : algorithms[canonicalName(name)]?.use
  return use === 'signature' || use === 'mac' ? ['sign', 'verify'] : ['encrypt', 'decrypt']
}
