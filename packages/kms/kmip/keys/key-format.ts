import { Enumeration, Tag, tagText, type ValueName, valueName } from '@warder/kmip/tables'
import { KmipDecodeError, optional, type StructureNode } from '@warder/kmip/ttlv'
import { kmipFailure } from '../engine/failure.ts'

/** Forms that KMIP 1.0 to 1.2 had beside those of 2.1 (KMIP 1.2 §9.1.3.2.3): each use of an EC key its own name. */
const legacyFormats = {
  TransparentECDSAPrivateKey: 0x0e,
  TransparentECDSAPublicKey: 0x0f,
  TransparentECDHPrivateKey: 0x10,
  TransparentECDHPublicKey: 0x11,
  TransparentECMQVPrivateKey: 0x12,
  TransparentECMQVPublicKey: 0x13,
} as const

export type KeyFormat = ValueName<'KeyFormatType'> | keyof typeof legacyFormats

const legacyNames = new Map<number, KeyFormat>(
  Object.entries(legacyFormats).map(([name, value]) => [value, name as KeyFormat]),
)

export function keyFormatNumber(format: KeyFormat): number {
  return format in legacyFormats
    ? legacyFormats[format as keyof typeof legacyFormats]
    : Enumeration.KeyFormatType[format as ValueName<'KeyFormatType'>]
}

export function keyFormatName(value: number): KeyFormat | undefined {
  return valueName('KeyFormatType', value) ?? legacyNames.get(value)
}

/**
 * KeyFormatType of a key block or of a request, if it is there.
 * @throws KeyFormatTypeNotSupported for a number that names no format
 */
export function readKeyFormat(parent: StructureNode): KeyFormat | undefined {
  const value = optional(parent, Tag.KeyFormatType, 'Enumeration')
  if (value === undefined) return undefined
  const name = keyFormatName(value)
  if (name === undefined)
    throw kmipFailure('KeyFormatTypeNotSupported', 'This key format type is not supported here.')
  return name
}

/** The bytes of a KeyMaterial that must be a byte string. @throws InvalidField */
export function materialBytes(material: {
  readonly tag: number
  readonly type: string
  readonly value: unknown
}) {
  if (material.type !== 'ByteString')
    throw new KmipDecodeError('wrong_member', `${tagText(material.tag)} of this format is a ByteString.`)
  return material.value as Uint8Array
}

/** The members of a KeyMaterial of a transparent form. @throws InvalidField */
export function materialStructure(material: { readonly tag: number; readonly type: string }): StructureNode {
  if (material.type !== 'Structure')
    throw new KmipDecodeError('wrong_member', `${tagText(material.tag)} of this format is a Structure.`)
  return material as StructureNode
}
