import type { TagName, ValueName } from '@warder/kmip/tables'
import type { CurveName } from './algorithm-names.ts'

/** A key that was read, in the names of KMIP. */
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
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}
