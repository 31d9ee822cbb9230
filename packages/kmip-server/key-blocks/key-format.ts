import type { KeyFormat } from '@warder/keys'
import {
  Enumeration,
  KmipDecodeError,
  optional,
  type StructureNode,
  Tag,
  tagText,
  valueName,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'

export function keyFormatNumber(format: KeyFormat): number {
  return Enumeration.KeyFormatType[format]
}

export function keyFormatName(value: number): KeyFormat | undefined {
  return valueName('KeyFormatType', value)
}

/** KeyFormatType of a key block, if it is there. @throws KeyFormatTypeNotSupported for an unknown format */
export function readKeyFormat(parent: StructureNode): KeyFormat | undefined {
  return toKeyFormat(optional(parent, Tag.KeyFormatType, 'Enumeration'))
}

/** A KeyFormatType, if it is there. @throws KeyFormatTypeNotSupported for an unknown format */
export function toKeyFormat(value: number | undefined): KeyFormat | undefined {
  if (value === undefined) return undefined
  const name = keyFormatName(value)
  if (name === undefined)
    throw kmipFailure('KeyFormatTypeNotSupported', 'This key format type is not supported.')
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
