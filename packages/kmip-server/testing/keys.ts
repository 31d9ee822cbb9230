import assert from 'node:assert/strict'
import {
  byteString,
  Enumeration,
  encodeTtlv,
  enumeration,
  findMember,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'

const { KeyFormatType: format, CryptographicAlgorithm: algorithm } = Enumeration
export type FormatName = keyof typeof format

export function keyBlock(
  formatType: FormatName,
  material: Uint8Array | readonly TtlvNode[],
  ...more: readonly TtlvNode[]
): StructureNode {
  const node =
    material instanceof Uint8Array
      ? byteString(Tag.KeyMaterial, material)
      : structure(Tag.KeyMaterial, material)
  return structure(Tag.KeyBlock, [
    enumeration(Tag.KeyFormatType, format[formatType]),
    structure(Tag.KeyValue, [node]),
    ...more,
  ])
}

export function keyOf(name: keyof typeof algorithm, bits: number): readonly TtlvNode[] {
  return [enumeration(Tag.CryptographicAlgorithm, algorithm[name]), integer(Tag.CryptographicLength, bits)]
}

/** SymmetricKey of AES. */
export function aesKey(key: Uint8Array): StructureNode {
  return structure(Tag.SymmetricKey, [keyBlock('Raw', key, ...keyOf('AES', key.length * 8))])
}

/** KeyFormatType of a request. */
export function wanted(name: FormatName): TtlvNode {
  return enumeration(Tag.KeyFormatType, format[name])
}

/** CryptographicUsageMask. */
export function mask(...uses: readonly (keyof typeof Enumeration.CryptographicUsageMask)[]): TtlvNode {
  const bits = uses.reduce((sum, use) => sum | Enumeration.CryptographicUsageMask[use], 0)
  return integer(Tag.CryptographicUsageMask, bits)
}

/** ActivationDate long ago. */
export const activeSince: TtlvNode = { tag: Tag.ActivationDate, type: 'DateTime', value: 1000 }

export function nameNode(text: string): TtlvNode {
  return structure(Tag.Name, [
    textString(Tag.NameValue, text),
    enumeration(Tag.NameType, Enumeration.NameType.UninterpretedTextString),
  ])
}

/** The member at the end of a path of tags. */
export function inside(node: TtlvNode | undefined, ...tags: readonly number[]): TtlvNode | undefined {
  let at = node
  for (const tag of tags) at = at?.type === 'Structure' ? findMember(at, tag) : undefined
  return at
}

/** Target of a Link of this type among nodes. */
export function linked(nodes: readonly TtlvNode[], type: keyof typeof Enumeration.LinkType): unknown {
  const found = nodes.find(
    (node) => node.tag === Tag.Link && inside(node, Tag.LinkType)?.value === Enumeration.LinkType[type],
  )
  return inside(found, Tag.LinkedObjectIdentifier)?.value
}

export function hex(bytes: unknown): string {
  assert.ok(bytes instanceof Uint8Array)
  return Buffer.from(bytes).toString('hex')
}

/** Are two nodes the same, byte for byte? */
export function same(one: TtlvNode | undefined, other: TtlvNode): void {
  assert.ok(one)
  assert.equal(hex(encodeTtlv(one)), hex(encodeTtlv(other)))
}

/** KeyWrappingSpecification. */
export function wrappingSpecification(
  id: string,
  mode: keyof typeof Enumeration.BlockCipherMode | undefined,
  encoding?: keyof typeof Enumeration.EncodingOption,
): TtlvNode {
  return structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [
      textString(Tag.UniqueIdentifier, id),
      mode === undefined
        ? undefined
        : structure(Tag.CryptographicParameters, [
            enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode[mode]),
          ]),
    ]),
    encoding === undefined
      ? undefined
      : enumeration(Tag.EncodingOption, Enumeration.EncodingOption[encoding]),
  ])
}
