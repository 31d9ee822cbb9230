import type { TagName } from '@warder/kmip/tables'
import type { ParsedKey as PkiKey } from '@warder/pki/keys'
import { type AlgorithmName, type CurveName, kmipKeyKind } from '../../../keys/index.ts'

/** A key that was read, in the names of KMIP. */
export interface ParsedKey {
  /** Raw bytes, PKCS#8 DER or SPKI DER. The caller wipes it. */
  readonly canonical: Uint8Array
  readonly algorithm: AlgorithmName
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

/** A key that was read, with the members that it came with when a transparent form had not all of them. */
export type ReadKey = PkiKey & { readonly members?: readonly TagName[]; readonly boundAlg?: string }

/** A key in the names of KMIP. */
export function inKmipNames({ algorithm, curve, ...rest }: ReadKey): ParsedKey {
  return { ...rest, ...kmipKeyKind({ algorithm, ...(curve !== undefined && { curve }) }) }
}
