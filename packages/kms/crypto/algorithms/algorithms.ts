import { failure } from '@warder/foundation/errors'
import type { HmacHash } from '../mac/hmac.ts'
import type { MaterialAlgorithm } from '../material/material.ts'
import type { OaepHash } from '../rsa/oaep-decode.ts'
import type { RsaHash, RsaScheme } from '../signature/rsa-signature.ts'
import { type AlgorithmPolicy, type PolicyFacts, requirePermitted } from './policy.ts'

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
 * The algorithm of this name for this use. What FIPS builds do not have, or the policy does not permit, is refused here,
 * by the one policy of REST and KMIP.
 * @throws failure('unsupported_algorithm')
 */
export function algorithmFor<Use extends Algorithm['use']>(
  use: Use,
  name: string,
  policy: AlgorithmPolicy,
): Extract<Algorithm, { readonly use: Use }> {
  const found = algorithms[canonicalName(name)]
  if (found === undefined || found.use !== use || (policy.fips && !found.fips)) throw unsupported(use, name)
  if (policy.lists !== undefined) requirePermitted(policy, factsOf(canonicalName(name), found))
  return found as Extract<Algorithm, { readonly use: Use }>
}

/** @throws failure('unsupported_algorithm') when a key must not be bound to this algorithm */
export function requireAlgorithmPermitted(name: string, policy: AlgorithmPolicy): void {
  const found = algorithms[canonicalName(name)]
  if (found !== undefined && policy.lists !== undefined) requirePermitted(policy, factsOf(name, found))
}

/** What the policy asks about an algorithm, in the names of KMIP 2.1 §11. */
function factsOf(name: string, algorithm: Algorithm): PolicyFacts {
  switch (algorithm.use) {
    case 'content encryption':
      return { algorithms: 'AES', block_cipher_modes: 'GCM', aes_key_sizes: String(algorithm.bits) }
    case 'mac':
      return { algorithms: `HMAC-${algorithm.hash}`, hashes: algorithm.hash }
    case 'key management':
      return {
        algorithms: 'RSA',
        padding_methods: 'OAEP',
        hashes: algorithm.oaepHash,
        mgf_hashes: algorithm.oaepHash,
        mask_generators: 'MGF1',
      }
    case 'signature':
      return signatureFacts(name, algorithm)
  }
}

function signatureFacts(name: string, algorithm: SignatureAlgorithm): PolicyFacts {
  switch (algorithm.scheme) {
    case 'pkcs1':
      return {
        algorithms: 'RSA',
        hashes: algorithm.hash,
        signature_algorithms: [name, `${algorithm.hash}WithRSAEncryption`],
        padding_methods: ['PKCS1v15', 'PKCS1v1.5'],
      }
    case 'pss':
      return {
        algorithms: 'RSA',
        hashes: algorithm.hash,
        signature_algorithms: [name, 'RSASSA-PSS'],
        padding_methods: 'PSS',
        mgf_hashes: algorithm.hash,
        mask_generators: 'MGF1',
      }
    case 'ecdsa':
      return {
        algorithms: 'EC',
        hashes: algorithm.hash,
        signature_algorithms: [name, `ECDSAWith${algorithm.hash}`],
        curves: algorithm.curve,
      }
    case 'eddsa':
      return { algorithms: 'Ed25519', signature_algorithms: [name, 'Ed25519'] }
    case 'ml-dsa':
      return { algorithms: 'ML-DSA-44', signature_algorithms: name }
  }
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
