import { createHash } from 'node:crypto'
import { Enumeration, Tag, type ValueName } from '@warder/kmip/tables'
import { byteString, enumeration, structure, type TtlvNode } from '@warder/kmip/ttlv'

/** The Digest attribute (KMIP 2.1 §4.21): SHA-256 of the key in one of its formats. */
export function digestNode(bytes: Uint8Array, format: ValueName<'KeyFormatType'> | undefined): TtlvNode {
  return structure(Tag.Digest, [
    enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
    byteString(Tag.DigestValue, createHash('sha256').update(bytes).digest()),
    format === undefined ? undefined : keyFormatNode(format),
  ])
}

export function keyFormatNode(format: ValueName<'KeyFormatType'>): TtlvNode {
  return enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType[format])
}
