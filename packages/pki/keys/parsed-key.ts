import type { ByteKeyAlgorithm } from './byte-key-families.ts'
import type { Curve } from './curves.ts'

export type KeyAlgorithm = 'RSA' | 'EC' | 'DSA' | 'DH' | ByteKeyAlgorithm

/** An asymmetric key that was read, whichever form it came in. */
export interface ParsedKey {
  /** PKCS#8 DER or SPKI DER. The caller wipes it. */
  readonly canonical: Uint8Array
  readonly algorithm: KeyAlgorithm
  /** Of RSA the modulus, of EC the field, of DSA and DH the prime, of the others the public key. */
  readonly bits: number
  /** Set for EC. */
  readonly curve?: Curve
  /** Of DSA and DH: bits of Q. */
  readonly qLength?: number
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}

/** The keys that are accepted. */
export interface KeyPolicy {
  readonly fips: boolean
}
