import type { TagName, ValueName } from '@warder/kmip/tables'
import type { CurveName } from '../../../pki/keys/curves.ts'

/** A key that was understood, whatever form it came in. */
export interface ParsedKey {
  /** Raw bytes, PKCS#8 DER or SPKI DER. The caller wipes it. */
  readonly canonical: Uint8Array
  readonly algorithm: ValueName<'CryptographicAlgorithm'>
  /** CryptographicLength, in bits. */
  readonly bits: number
  readonly curve?: CurveName
  /** Of DSA and DH: bits of Q. */
  readonly qLength?: number
  /** Transparent forms may leave members out; which were there when not all were. */
  readonly members?: readonly TagName[]
  /** A check that is too slow for the event loop. Rejects with a KeyRefusal. */
  readonly check?: () => Promise<void>
}

/** What may be taken in. */
export interface KeyPolicy {
  readonly fips: boolean
}
