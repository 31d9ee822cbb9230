import { createHash } from 'node:crypto'
import { Enumeration, Tag } from '@warder/kmip/tables'
import {
  byteString,
  encodeTtlv,
  enumeration,
  type StructureNode,
  structure,
  type TtlvNode,
} from '@warder/kmip/ttlv'
import { defaultFormat } from './asymmetric.ts'
import { readKeyBlock } from './key-block.ts'
import { type KeyFormat, keyFormatNumber } from './key-format.ts'
import type { StoredShape } from './stored-shape.ts'
import { keyInForm, storedBlock } from './write-object.ts'

/** Of a transparent form there are no bytes to hash: that of its usual encoding is. */
const encodings: Partial<Record<KeyFormat, KeyFormat>> = {
  TransparentSymmetricKey: 'Raw',
  TransparentRSAPrivateKey: 'PKCS_1',
  TransparentRSAPublicKey: 'PKCS_1',
}

/**
 * The Digest attribute (KMIP 2.1 §4.21): SHA-256 over the key material in the format it names; over the value itself
 * of certificates and opaque objects, over the TTLV encoding of transparent material that is kept as a block.
 */
export function digestAttribute(shape: StoredShape, material: Uint8Array): StructureNode {
  const { bytes, format } = hashed(shape, material)
  return digestNode(bytes, format)
}

/** The Digest attribute of bytes that are in this format already. */
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

function hashed(shape: StoredShape, material: Uint8Array): { bytes: Uint8Array; format: KeyFormat } {
  const { objectType, form } = shape
  if (form === 'block') return { bytes: blockMaterial(material), format: shape.keyFormat ?? 'Opaque' }
  switch (objectType) {
    case 'Certificate':
      return { bytes: material, format: 'X_509' }
    case 'CertificateRequest':
      return { bytes: material, format: 'PKCS_10' }
    case 'OpaqueObject':
      return { bytes: material, format: 'Opaque' }
    case 'PrivateKey':
    case 'PublicKey': {
      const registered = shape.keyFormat ?? defaultFormat(objectType, shape)
      const format =
        encodings[registered] ??
        (registered.startsWith('Transparent')
          ? objectType === 'PrivateKey'
            ? 'PKCS_8'
            : 'X_509'
          : registered)
      return { bytes: bytesOf(shape, material, format), format }
    }
    default: {
      const format = encodings[shape.keyFormat ?? 'Raw'] ?? shape.keyFormat ?? 'Raw'
      return { bytes: bytesOf(shape, material, format), format }
    }
  }
}

/** The KeyMaterial of a key in clear that is kept as it came: a part of a key, a PGP key, a key with a MAC. */
function blockMaterial(block: Uint8Array): Uint8Array {
  const { value } = readKeyBlock(storedBlock(block))
  if (value === undefined || value instanceof Uint8Array) return block
  const { material } = value
  return material.type === 'ByteString' ? material.value : encodeTtlv(material)
}

function bytesOf(shape: StoredShape, material: Uint8Array, format: KeyFormat): Uint8Array {
  const node = keyInForm(shape, material, { format }).material
  return node.type === 'ByteString' ? node.value : encodeTtlv(node)
}
