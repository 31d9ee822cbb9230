import { Tag } from '@warder/kmip/tables'
import { optional, required, type StructureNode, unsignedBytes } from '@warder/kmip/ttlv'

/** D of a transparent private key: a number (KMIP 2.1), or bytes as some clients send it. */
export function readScalar(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.D)
  if (member?.type === 'ByteString') return required(material, Tag.D, 'ByteString')
  return unsignedBytes({ tag: Tag.D, type: 'BigInteger', value: required(material, Tag.D, 'BigInteger') })
}

/** Q of a transparent public key: bytes of a point (KMIP 2.1), or a number holding them. */
export function readPoint(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.QString)
  if (member?.type === 'BigInteger')
    return unsignedBytes({
      tag: Tag.QString,
      type: 'BigInteger',
      value: required(material, Tag.QString, 'BigInteger'),
    })
  return optional(material, Tag.QString, 'ByteString') ?? required(material, Tag.QString, 'ByteString')
}
