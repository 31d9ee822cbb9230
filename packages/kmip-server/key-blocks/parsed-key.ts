import { type AlgorithmName, type CurveName, kmipKeyKind } from '@warder/keys'
import type { TagName } from '@warder/kmip-codec'
import type { ParsedKey as PkiKey } from '@warder/pki'

/** A parsed key, described with KMIP names. */
export interface ParsedKey {
  /** Raw bytes, PKCS#8 DER or SPKI DER. The caller wipes it. */
  readonly canonical: Uint8Array
  readonly algorithm: AlgorithmName
  /** CryptographicLength, in bits. */
  readonly bits: number
  readonly curve?: CurveName
  /** Of DSA and DH: bits of Q. */
  readonly qLength?: number
  /** The members that were present, if a transparent form omitted some. */
  readonly members?: readonly TagName[]
  /** The only JOSE algorithm of the key. */
  readonly boundAlg?: string
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}

/** A parsed key, with the members that were present if a transparent form omitted some. */
export type ReadKey = PkiKey & { readonly members?: readonly TagName[]; readonly boundAlg?: string }

/** A key described with KMIP names. */
export function inKmipNames({ algorithm, curve, ...rest }: ReadKey): ParsedKey {
  return { ...rest, ...kmipKeyKind({ algorithm, ...(curve !== undefined && { curve }) }) }
}
