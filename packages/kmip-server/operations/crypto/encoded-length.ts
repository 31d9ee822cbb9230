import { findMember, type StructureNode, Tag, type TtlvNode } from '@warder/kmip-codec'

/** The members of an Import that name the length of a key. */
interface Imported {
  readonly attributes: readonly TtlvNode[]
  readonly objects: readonly TtlvNode[]
}

/**
 * The members of an Import without a CryptographicLength that is the length of the key's DER encoding.
 * cloudproof_kms_js sends that of private keys (`packages/kmip-codec/json/tolerances.ts`). No key is as long as its encoding,
 * so no correct length is dropped: the length of the key itself is stored.
 */
export function withoutEncodedLength(imported: Imported): Imported {
  const { attributes, objects } = imported
  const key = objects.find(({ tag }) => tag === Tag.PrivateKey)
  const block = key && structureIn(key, Tag.KeyBlock)
  const value = block && structureIn(block, Tag.KeyValue)
  const material = value && findMember(value, Tag.KeyMaterial)
  if (block === undefined || material?.type !== 'ByteString') return imported
  const encoded = material.value.length * 8
  const length = findMember(block, Tag.CryptographicLength)
  if (encoded === 0 || length?.value !== encoded) return imported
  return { attributes: without(attributes, encoded), objects: without(objects, encoded) }
}

function structureIn(node: TtlvNode, tag: number): StructureNode | undefined {
  const member = node.type === 'Structure' ? findMember(node, tag) : undefined
  return member?.type === 'Structure' ? member : undefined
}

/** Removes the length from the key block and from the attributes inside and beside it. */
function without(nodes: readonly TtlvNode[], bits: number): readonly TtlvNode[] {
  return nodes
    .filter(({ tag, value }) => tag !== Tag.CryptographicLength || value !== bits)
    .map((node) => (node.type === 'Structure' ? { ...node, value: without(node.value, bits) } : node))
}
