import type { HashName } from './hashes.ts'
import type { MaterialAlgorithm } from './key-types.ts'

/** Bits of a key that wraps with AES. */
type WrapBits = 128 | 192 | 256

/** How a content key is transported to the recipient, other than by RSA-OAEP (`rsaEncryptions`). */
export type KeyManagementWay =
  /** The AES key wraps it, with AES Key Wrap (RFC 7518 §4.4) or with AES-GCM (§4.7). */
  | { readonly way: 'key wrap' | 'gcm key wrap'; readonly bits: WrapBits }
  /** A shared secret of an ephemeral and the static key (RFC 7518 §4.6): is the content key, or wraps it. */
  | { readonly way: 'agreement'; readonly wrapBits: WrapBits | undefined }
  /** A secret that is encapsulated for the key (draft-ietf-jose-pqc-kem): is the content key, or wraps it. */
  | { readonly way: 'encapsulation'; readonly wrapBits: WrapBits | undefined }

export type KeyManagementRow = KeyManagementWay & {
  readonly jose: string
  /** Types of key that do it, the usual one first. */
  readonly materials: readonly [MaterialAlgorithm, ...MaterialAlgorithm[]]
  /** false: not in FIPS builds. */
  readonly fips: boolean
  /** Available only if the settings allow it (`AlgorithmPolicy.opened`). */
  readonly optional?: true
}

const sizes: readonly WrapBits[] = [128, 192, 256]
const curves = ['EC', 'X25519'] as const
const kems = [
  ['ML-KEM-512', 128],
  ['ML-KEM-768', 192],
  ['ML-KEM-1024', 256],
] as const

/**
 * The table: another name of one of these ways is a row here, another way a case in `jose/key-management`.
 * `A128KW` and `ECDH-ES` are not available unless a setting allows them; ML-KEM is in a draft.
 */
export const keyManagements: readonly KeyManagementRow[] = [
  ...sizes.map((bits): KeyManagementRow => {
    const row = { jose: `A${bits}KW`, way: 'key wrap', bits, materials: ['AES'], fips: true } as const
    return bits === 128 ? { ...row, optional: true } : row
  }),
  ...sizes.map(
    (bits): KeyManagementRow => ({
      jose: `A${bits}GCMKW`,
      way: 'gcm key wrap',
      bits,
      materials: ['AES'],
      fips: true,
    }),
  ),
  { jose: 'ECDH-ES', way: 'agreement', wrapBits: undefined, materials: curves, fips: true, optional: true },
  ...sizes.map(
    (wrapBits): KeyManagementRow => ({
      jose: `ECDH-ES+A${wrapBits}KW`,
      way: 'agreement',
      wrapBits,
      materials: curves,
      fips: true,
    }),
  ),
  ...kems.flatMap(([name, bits]): KeyManagementRow[] =>
    ([undefined, bits] as const).map((wrapBits) => ({
      jose: wrapBits === undefined ? name : `${name}+A${wrapBits}KW`,
      way: 'encapsulation',
      wrapBits,
      materials: [name],
      fips: false,
      optional: true,
    })),
  ),
]

/**
 * RSA-OAEP as in JOSE (RFC 7518 §4.3): one hash for all, no label. KMIP chooses them apart (`rsa/rsa-encryption.ts`).
 */
interface RsaEncryption {
  readonly jose: string
  readonly hash: OaepHash
}

export type OaepHash = Extract<HashName, 'SHA_1' | 'SHA_256'>

/** The table: a new hash of JOSE is a row here. */
export const rsaEncryptions: readonly RsaEncryption[] = [
  { jose: 'RSA-OAEP', hash: 'SHA_1' },
  { jose: 'RSA-OAEP-256', hash: 'SHA_256' },
]
