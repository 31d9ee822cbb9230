import type { TagName, ValueName } from '@warder/kmip/tables'

/** A curve in the names of KMIP (KMIP 2.1 §11.41). */
export type CurveName = ValueName<'RecommendedCurve'>

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
  /** The only algorithm of JOSE that the key is for. */
  readonly boundAlg?: string
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}
