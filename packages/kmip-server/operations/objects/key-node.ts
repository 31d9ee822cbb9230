import type { AlgorithmName } from '@warder/keys'
import {
  byteString,
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
} from '@warder/kmip-codec'

/** A key that was created here from bytes, in the form of a client's key. */
export interface MadeKey {
  readonly type: 'SymmetricKey' | 'SecretData' | 'PrivateKey'
  /** Raw, or PKCS#8 of a private key. */
  readonly material: Uint8Array
  readonly algorithm: AlgorithmName | undefined
  readonly bits: number | undefined
  /** Of SecretData. */
  readonly secretDataType: keyof typeof Enumeration.SecretDataType
}

/** The node of the object, so that it passes the same checks as a registered key and gets the same form. */
export function keyNode({ type, material, algorithm, bits, secretDataType }: MadeKey): StructureNode {
  const { Raw, PKCS_8 } = Enumeration.KeyFormatType
  return structure(Tag[type], [
    type === 'SecretData'
      ? enumeration(Tag.SecretDataType, Enumeration.SecretDataType[secretDataType])
      : undefined,
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, type === 'PrivateKey' ? PKCS_8 : Raw),
      structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, material)]),
      algorithm === undefined
        ? undefined
        : enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm]),
      bits === undefined ? undefined : integer(Tag.CryptographicLength, bits),
    ]),
  ])
}
