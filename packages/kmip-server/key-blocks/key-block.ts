import type { KeyFormat } from '@warder/keys'
import {
  findMember,
  findMembers,
  optional,
  optionalName,
  optionalStructure,
  type StructureNode,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { readKeyFormat } from './key-format.ts'
import { readWrappingData, type WrappingData } from './key-wrapping.ts'
import type { CryptographicAlgorithm, PointCompression } from './stored-shape.ts'

/** KeyValue in clear (KMIP 2.1 §3.1.3). */
export interface PlainKeyValue {
  readonly material: TtlvNode
  /** Attributes within the KeyValue. */
  readonly attributes: readonly TtlvNode[]
  /** The KeyValue as received. */
  readonly node: StructureNode
}

/** KeyBlock (KMIP 2.1 §3.1.2) as received; its readers check that its parts are consistent. */
export interface KeyBlock {
  readonly format: KeyFormat
  readonly compression: PointCompression | undefined
  readonly algorithm: CryptographicAlgorithm | undefined
  readonly bits: number | undefined
  /** undefined: the block does not contain the key (KeyValuePresent is false). */
  readonly value: PlainKeyValue | Uint8Array | undefined
  readonly wrapping: WrappingData | undefined
}

/** The KeyBlock within an object. @throws KmipDecodeError, KeyFormatTypeNotSupported, InvalidField */
export function readKeyBlock(object: StructureNode): KeyBlock {
  const block = optionalStructure(object, Tag.KeyBlock)
  if (block === undefined) throw kmipFailure('InvalidField', 'KeyBlock is missing.')
  const format = readKeyFormat(block)
  if (format === undefined) throw kmipFailure('InvalidField', 'KeyFormatType is missing.')
  const wrappingNode = optionalStructure(block, Tag.KeyWrappingData)
  const wrapping = wrappingNode === undefined ? undefined : readWrappingData(wrappingNode)
  const value = wrapping === undefined ? readKeyValue(block) : bytesWithin(readKeyValue(block), wrapping)
  const encrypted = wrapping !== undefined && wrapping.method !== 'MACSign'
  if (value !== undefined && value instanceof Uint8Array !== encrypted)
    throw kmipFailure(
      'InvalidField',
      encrypted ? 'KeyValue of a wrapped key is a ByteString.' : 'KeyValue of a key in clear is a Structure.',
    )
  const bits = optional(block, Tag.CryptographicLength, 'Integer')
  if (bits !== undefined && bits <= 0) throw kmipFailure('InvalidField', 'CryptographicLength is positive.')
  return {
    format,
    compression: optionalName(block, Tag.KeyCompressionType, 'KeyCompressionType'),
    algorithm: optionalName(block, Tag.CryptographicAlgorithm, 'CryptographicAlgorithm'),
    bits,
    value,
    wrapping,
  }
}

function readKeyValue(block: StructureNode): PlainKeyValue | Uint8Array | undefined {
  const [value, another] = findMembers(block, Tag.KeyValue)
  if (value === undefined) return undefined
  if (another !== undefined) throw kmipFailure('InvalidField', 'KeyValue appears twice.')
  if (value.type === 'ByteString') return value.value
  if (value.type !== 'Structure')
    throw kmipFailure('InvalidField', 'KeyValue is a Structure, or a ByteString when wrapped.')
  return plainKeyValue(value)
}

/**
 * The wrapped bytes within a KeyMaterial. Without an encoding only the bytes of the key are wrapped, and some clients
 * leave the result in the KeyMaterial: they send NoEncoding, or only the method. With an encoding, cloudproof_kms_js
 * adds attributes that describe the key and that the request repeats outside of the block
 * (`packages/kmip-codec/json/tolerances.ts`). Any other member would be lost, so it is refused.
 */
function bytesWithin(
  value: PlainKeyValue | Uint8Array | undefined,
  { encoding, encodingGiven, encryption, method }: WrappingData,
): PlainKeyValue | Uint8Array | undefined {
  if (value === undefined || value instanceof Uint8Array || method === 'MACSign') return value
  const { material, attributes } = value
  const unencoded = encoding === 'NoEncoding' || (encryption === undefined && !encodingGiven)
  const isPlain = attributes.length === 0 ? unencoded : attributes.every(({ tag }) => describing.has(tag))
  return (isPlain ? readPlainMaterial(material) : undefined) ?? value
}

/** Wrapped bytes in place of the KeyMaterial, or of the Key within a TransparentSymmetricKey. */
function readPlainMaterial(material: TtlvNode): Uint8Array | undefined {
  if (material.type === 'ByteString') return material.value
  if (material.type !== 'Structure' || material.value.length !== 1) return undefined
  const key = findMember(material, Tag.Key)
  return key?.type === 'ByteString' ? key.value : undefined
}

const describing: ReadonlySet<number> = new Set([
  Tag.ObjectType,
  Tag.CryptographicAlgorithm,
  Tag.CryptographicLength,
  Tag.KeyFormatType,
])

/** @throws InvalidField when there is not exactly one KeyMaterial */
export function plainKeyValue(node: StructureNode): PlainKeyValue {
  const [material, another] = findMembers(node, Tag.KeyMaterial)
  if (material === undefined || another !== undefined)
    throw kmipFailure('InvalidField', 'KeyValue holds exactly one KeyMaterial.')
  const within = findMember(node, Tag.Attributes)
  const attributes = within?.type === 'Structure' ? within.value : findMembers(node, Tag.Attribute)
  return { material, attributes, node }
}
