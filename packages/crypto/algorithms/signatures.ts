import { type HashAlgorithm, type HashName, hashes } from './hashes.ts'
import type { MaterialAlgorithm } from './key-types.ts'

/** How a key signs. */
export type SignaturePlan =
  | { readonly scheme: 'pkcs1' | 'dsa'; readonly hash: HashAlgorithm }
  /**
   * `raw`: r and s as two numbers of one length (RFC 7518 §3.4); else DER. `unnamed`: of a digest that another hash made,
   * which has no name in JOSE.
   */
  | { readonly scheme: 'ecdsa'; readonly hash: HashAlgorithm; readonly raw?: true; readonly unnamed?: true }
  | {
      readonly scheme: 'pss'
      readonly hash: HashAlgorithm
      readonly maskHash: HashAlgorithm
      /** Bytes. undefined: as long as the hash to sign, any to verify. */
      readonly saltLength: number | undefined
    }
  /** The scheme hashes for itself: Ed25519, Ed448, ML-DSA, SLH-DSA. */
  | { readonly scheme: 'pure' }

export type Scheme = SignaturePlan['scheme']

/** A signature algorithm with the names that it has. */
export interface HashedSignature {
  readonly scheme: Exclude<Scheme, 'pure'>
  readonly hash: HashName
  /** DigitalSignatureAlgorithm (KMIP 2.1 §11.16). One that several rows have leaves the hash to HashingAlgorithm. */
  readonly kmip?: string
  /** RFC 7518 §3.1. */
  readonly jose?: string
  /** JOSE binds a curve to the hash. */
  readonly curve?: string
  /** Available only if the settings allow it (`AlgorithmPolicy.opened`). */
  readonly optional?: true
}

/** One that is all that its type of key does. */
export interface PureSignature {
  readonly scheme: 'pure'
  /** node's name of the type of key. */
  readonly key: string
  /** Its names in CryptographicAlgorithm (KMIP 2.1 §11.12). */
  readonly kmip: readonly [string, ...string[]]
  /** RFC 8037, RFC 9964. */
  readonly jose?: string
  /** Set if JOSE has keys of this type. */
  readonly material?: MaterialAlgorithm
}

/** The table: a new signature algorithm is a row here, a new type of key one in `key-types.ts`, a new scheme code in `signature/`. */
export const hashedSignatures: readonly HashedSignature[] = [
  { scheme: 'pkcs1', hash: 'MD5', kmip: 'MD5WithRSAEncryption' },
  { scheme: 'pkcs1', hash: 'SHA_1', kmip: 'SHA_1WithRSAEncryption' },
  { scheme: 'pkcs1', hash: 'SHA_224', kmip: 'SHA_224WithRSAEncryption' },
  { scheme: 'pkcs1', hash: 'SHA_256', kmip: 'SHA_256WithRSAEncryption', jose: 'RS256' },
  { scheme: 'pkcs1', hash: 'SHA_384', kmip: 'SHA_384WithRSAEncryption', jose: 'RS384' },
  { scheme: 'pkcs1', hash: 'SHA_512', kmip: 'SHA_512WithRSAEncryption', jose: 'RS512' },
  { scheme: 'pkcs1', hash: 'SHA3_256', kmip: 'SHA3_256WithRSAEncryption' },
  { scheme: 'pkcs1', hash: 'SHA3_384', kmip: 'SHA3_384WithRSAEncryption' },
  { scheme: 'pkcs1', hash: 'SHA3_512', kmip: 'SHA3_512WithRSAEncryption' },
  { scheme: 'pss', hash: 'SHA_256', kmip: 'RSASSA_PSS', jose: 'PS256' },
  { scheme: 'pss', hash: 'SHA_384', kmip: 'RSASSA_PSS', jose: 'PS384' },
  { scheme: 'pss', hash: 'SHA_512', kmip: 'RSASSA_PSS', jose: 'PS512' },
  { scheme: 'dsa', hash: 'SHA_1', kmip: 'DSAWithSHA_1' },
  { scheme: 'dsa', hash: 'SHA_224', kmip: 'DSAWithSHA224' },
  { scheme: 'dsa', hash: 'SHA_256', kmip: 'DSAWithSHA256' },
  { scheme: 'ecdsa', hash: 'SHA_1', kmip: 'ECDSAWithSHA_1' },
  { scheme: 'ecdsa', hash: 'SHA_224', kmip: 'ECDSAWithSHA224' },
  { scheme: 'ecdsa', hash: 'SHA_256', kmip: 'ECDSAWithSHA256', jose: 'ES256', curve: 'P-256' },
  { scheme: 'ecdsa', hash: 'SHA_384', kmip: 'ECDSAWithSHA384', jose: 'ES384', curve: 'P-384' },
  { scheme: 'ecdsa', hash: 'SHA_512', kmip: 'ECDSAWithSHA512', jose: 'ES512', curve: 'P-521' },
  // RFC 8812 §3.2.
  { scheme: 'ecdsa', hash: 'SHA_256', jose: 'ES256K', curve: 'secp256k1', optional: true },
]

const slhSizes = ['128s', '128f', '192s', '192f', '256s', '256f']

export const pureSignatures: readonly PureSignature[] = [
  { scheme: 'pure', key: 'ed25519', kmip: ['Ed25519', 'EC', 'ECDSA'], jose: 'EdDSA', material: 'Ed25519' },
  { scheme: 'pure', key: 'ed448', kmip: ['Ed448', 'EC', 'ECDSA'], jose: 'EdDSA' },
  { scheme: 'pure', key: 'ml-dsa-44', kmip: ['ML_DSA_44'], jose: 'MLDSA44', material: 'ML-DSA-44' },
  { scheme: 'pure', key: 'ml-dsa-65', kmip: ['ML_DSA_65'], jose: 'ML-DSA-65', material: 'ML-DSA-65' },
  { scheme: 'pure', key: 'ml-dsa-87', kmip: ['ML_DSA_87'], jose: 'ML-DSA-87', material: 'ML-DSA-87' },
  ...['sha2', 'shake'].flatMap((hash) =>
    slhSizes.map((size) => ({
      scheme: 'pure' as const,
      key: `slh-dsa-${hash}-${size}`,
      kmip: [`SLH_DSA_${hash.toUpperCase()}_${size}`] as const,
    })),
  ),
]

/** JOSE's name of a scheme with this hash. */
export function findJoseName(scheme: Scheme, hash: HashName): string | undefined {
  return hashedSignatures.find((row) => row.scheme === scheme && row.hash === hash)?.jose
}

/** How JOSE has it: PSS with the hash for the mask and a salt as long (RFC 7518 §3.5), ECDSA raw. */
export function toJosePlan({ scheme, hash: name }: HashedSignature): SignaturePlan {
  const hash = hashes.get(name) as HashAlgorithm
  if (scheme === 'pss') return { scheme, hash, maskHash: hash, saltLength: hash.bytes }
  return scheme === 'ecdsa' ? { scheme, hash, raw: true } : { scheme, hash }
}
