import type { ByteKeyAlgorithm } from './byte-key-families.ts'
import type { Curve } from './curves.ts'

export type KeyAlgorithm = 'RSA' | 'EC' | 'DSA' | 'DH' | ByteKeyAlgorithm

/** A parsed asymmetric key, whatever its input format. */
export interface ParsedKey {
  /** PKCS#8 DER or SPKI DER. The caller must wipe it. */
  readonly canonical: Uint8Array
  readonly algorithm: KeyAlgorithm
  /** Bits of the modulus (RSA), the field (EC), the prime (DSA, DH) or the public key (others). */
  readonly bits: number
  /** Set for EC. */
  readonly curve?: Curve
  /** DSA and DH: bits of Q. */
  readonly qLength?: number
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}

/** Policy of accepted keys. */
export interface KeyPolicy {
  readonly fips: boolean
}
