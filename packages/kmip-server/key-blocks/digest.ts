import { createHash } from 'node:crypto'
import { defaultKeyFormat, digestFormats, type KeyFormat } from '@warder/keys'
import {
  byteString,
  Enumeration,
  encodeTtlv,
  enumeration,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { readKeyBlock } from './key-block.ts'
import { keyFormatNumber } from './key-format.ts'
import type { StoredShape } from './stored-shape.ts'
import { keyInForm, toStoredBlock } from './write-object.ts'

/**
 * The Digest attributes of a key or another object (KMIP 1.4 §3.17, 2.1 §4.20, docs/adr/kmip-attributes.md): SHA-256
 * over the KeyMaterial in the registered or requested format, then over that in the default format of its kind if the
 * two differ. A transparent KeyMaterial is hashed as its TTLV encoding. Certificates and opaque objects have one, over
 * the value.
 * @param material as it is stored
 * @throws KeyFormatTypeNotSupported for a format that such a key does not have
 */
export function digestAttributes(shape: StoredShape, material: Uint8Array): readonly StructureNode[] {
  const { objectType } = shape
  if (shape.form === 'block') return [digestNode(blockMaterial(material), shape.keyFormat ?? 'Opaque')]
  switch (objectType) {
    case 'Certificate':
      return [digestNode(material, 'X_509')]
    case 'CertificateRequest':
      return [digestNode(material, 'PKCS_10')]
    case 'OpaqueObject':
      return [digestNode(material, 'Opaque')]
    case 'PrivateKey':
    case 'PublicKey':
      return keyDigests(shape, material, defaultKeyFormat(objectType, shape))
    default:
      return keyDigests(shape, material, 'Raw')
  }
}

function keyDigests(
  shape: StoredShape,
  material: Uint8Array,
  defaultFormat: KeyFormat,
): readonly StructureNode[] {
  const own = shape.keyFormat ?? defaultFormat
  const formats = own === defaultFormat ? [own] : digestFormats(own, defaultFormat)
  return formats.map((format) => digestNode(encodeMaterial(shape, material, format), format))
}

/** The Digest attribute of bytes that are already in this format. */
export function digestNode(bytes: Uint8Array, format: KeyFormat): StructureNode {
  return structure(Tag.Digest, [
    enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
    byteString(Tag.DigestValue, createHash('sha256').update(bytes).digest()),
    keyFormatNode(format),
  ])
}

export function keyFormatNode(format: KeyFormat): TtlvNode {
  return enumeration(Tag.KeyFormatType, keyFormatNumber(format))
}

/** The KeyMaterial of an unwrapped key that is stored as received: a part of a key, a PGP key, a key with a MAC. */
function blockMaterial(block: Uint8Array): Uint8Array {
  const { value } = readKeyBlock(toStoredBlock(block))
  if (value === undefined || value instanceof Uint8Array) return block
  const { material } = value
  return material.type === 'ByteString' ? material.value : encodeTtlv(material)
}

function encodeMaterial(shape: StoredShape, material: Uint8Array, format: KeyFormat): Uint8Array {
  const node = keyInForm(shape, material, { format }).material
  return node.type === 'ByteString' ? node.value : encodeTtlv(node)
}
