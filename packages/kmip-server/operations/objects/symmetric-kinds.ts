import type { AlgorithmName } from '@warder/keys'

/** Symmetric keys that can be created, with their lengths in bits of CryptographicLength. */
export interface SymmetricKind {
  /** Allowed lengths; undefined: any whole number of bytes from `minBits` to `maxBits`. */
  readonly lengths?: readonly number[]
  readonly minBits?: number
  readonly maxBits?: number
  readonly defaultBits: number
  /** Bytes of a key of that length; bits / 8 by default. */
  readonly bytes?: (bits: number) => number
}

const block = { lengths: [128, 192, 256], defaultBits: 256 }
const hmac = (defaultBits: number): SymmetricKind => ({ minBits: 8, maxBits: 32_768, defaultBits })

/** SP 800-107 §5.3.4: an HMAC key of less than 112 bits is not approved. */
export const minFipsHmacBits = 112

/** The complete table of keys that Create supports. */
export const symmetricKinds: Readonly<Partial<Record<AlgorithmName, SymmetricKind>>> = {
  // 512 is two AES-256 keys for XTS.
  AES: { lengths: [128, 192, 256, 512], defaultBits: 256 },
  // KMIP 2.1 §4.15: the length counts key bits without parity; clients also send it with parity.
  DES3: { lengths: [112, 128, 168, 192], defaultBits: 168, bytes: (bits) => (bits <= 128 ? 16 : 24) },
  Camellia: block,
  ARIA: block,
  SM4: { lengths: [128], defaultBits: 128 },
  ChaCha20: { lengths: [256], defaultBits: 256 },
  ChaCha20Poly1305: { lengths: [256], defaultBits: 256 },
  Poly1305: { lengths: [256], defaultBits: 256 },
  HMAC_SHA1: hmac(160),
  HMAC_SHA224: hmac(224),
  HMAC_SHA256: hmac(256),
  HMAC_SHA384: hmac(384),
  HMAC_SHA512: hmac(512),
  HMAC_SHA3_224: hmac(224),
  HMAC_SHA3_256: hmac(256),
  HMAC_SHA3_384: hmac(384),
  HMAC_SHA3_512: hmac(512),
}
