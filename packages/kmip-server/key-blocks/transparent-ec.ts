import { optional, requireMember, type StructureNode, Tag, toMagnitude } from '@warder/kmip-codec'

/** D of a transparent private key: a number (KMIP 2.1), or bytes as some clients send it. */
export function readScalar(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.D)
  if (member?.type === 'ByteString') return requireMember(material, Tag.D, 'ByteString')
  return toMagnitude({ tag: Tag.D, type: 'BigInteger', value: requireMember(material, Tag.D, 'BigInteger') })
}

/** Q of a transparent public key: bytes of a point (KMIP 2.1), or a number holding them. */
export function readPoint(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.QString)
  if (member?.type === 'BigInteger')
    return toMagnitude({
      tag: Tag.QString,
      type: 'BigInteger',
      value: requireMember(material, Tag.QString, 'BigInteger'),
    })
  return optional(material, Tag.QString, 'ByteString') ?? requireMember(material, Tag.QString, 'ByteString')
}
