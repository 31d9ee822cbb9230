import { findMember, type StructureNode, Tag, type TtlvNode } from '@warder/kmip-codec'

/**
 * The payload of an Import without a CryptographicLength that is the length of the key's DER encoding.
 * cloudproof_kms_js sends that of private keys (`packages/kmip-codec/json/tolerances.ts`). No key is as long as its encoding,
 * so no correct length is dropped: the length of the key itself is stored.
 */
export function withoutEncodedLength(payload: StructureNode): StructureNode {
  const key = findMember(payload, Tag.PrivateKey)
  const block = key && structureIn(key, Tag.KeyBlock)
  const value = block && structureIn(block, Tag.KeyValue)
  const material = value && findMember(value, Tag.KeyMaterial)
  if (block === undefined || material?.type !== 'ByteString') return payload
  const encoded = material.value.length * 8
  const length = findMember(block, Tag.CryptographicLength)
  return encoded > 0 && length?.value === encoded ? without(payload, encoded) : payload
}

function structureIn(node: TtlvNode, tag: number): StructureNode | undefined {
  const member = node.type === 'Structure' ? findMember(node, tag) : undefined
  return member?.type === 'Structure' ? member : undefined
}

/** Drops the length wherever it stands: in the key block and in the attributes inside and beside it. */
function without(node: StructureNode, bits: number): StructureNode {
  return {
    ...node,
    value: node.value.flatMap((member): readonly TtlvNode[] => {
      if (member.tag === Tag.CryptographicLength && member.value === bits) return []
      return [member.type === 'Structure' ? without(member, bits) : member]
    }),
  }
}
