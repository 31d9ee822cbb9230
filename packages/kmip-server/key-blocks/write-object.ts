import { defaultKeyFormat, type KeyFormat } from '@warder/keys'
import {
  byteString,
  decodeTtlv,
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { writeHalf } from './asymmetric.ts'
import { keyFormatNumber } from './key-format.ts'
import type { PointCompression, StoredShape } from './stored-shape.ts'
import { writeSymmetric } from './symmetric.ts'

/** The form of an object that a client requests. */
export interface WantedForm {
  readonly format?: KeyFormat | undefined
  readonly compression?: PointCompression | undefined
}

/** An unwrapped key, ready for a key block or for wrapping. */
export interface KeyInForm {
  readonly format: KeyFormat
  readonly compression: PointCompression | undefined
  /** KeyMaterial. */
  readonly material: TtlvNode
}

/**
 * Encodes the object for a client: SymmetricKey, PrivateKey, Certificate …
 * @param material the stored bytes; the nodes are views of them where possible
 * @throws KeyFormatTypeNotSupported, KeyCompressionTypeNotSupported
 */
export function writeManagedObject(
  shape: StoredShape,
  material: Uint8Array,
  wanted: WantedForm = {},
): StructureNode {
  if (shape.form === 'block') return writeBlock(shape, material, wanted)
  const { objectType } = shape
  switch (objectType) {
    case 'Certificate':
      requireFormat(wanted, ['X_509'])
      return structure(Tag.Certificate, [
        enumeration(Tag.CertificateType, Enumeration.CertificateType[shape.certificateType ?? 'X_509']),
        byteString(Tag.CertificateValue, material),
      ])
    case 'CertificateRequest':
      requireFormat(wanted, ['PKCS_10'])
      return structure(Tag.CertificateRequest, [
        enumeration(
          Tag.CertificateRequestType,
          Enumeration.CertificateRequestType[shape.certificateRequestType ?? 'PKCS_10'],
        ),
        byteString(Tag.CertificateRequestValue, material),
      ])
    case 'OpaqueObject':
      requireFormat(wanted, ['Opaque'])
      return structure(Tag.OpaqueObject, [
        enumeration(Tag.OpaqueDataType, shape.opaqueDataType ?? Enumeration.OpaqueDataType.Unknown),
        byteString(Tag.OpaqueDataValue, material),
      ])
    default:
      return keyObject(shape, keyInForm(shape, material, wanted))
  }
}

function writeBlock(shape: StoredShape, material: Uint8Array, wanted: WantedForm): StructureNode {
  if (wanted.format !== undefined && wanted.format !== shape.keyFormat)
    throw kmipFailure('KeyFormatTypeNotSupported', 'The object can only be given as it was registered.')
  if (wanted.compression !== undefined && wanted.compression !== shape.compression)
    throw kmipFailure('KeyCompressionTypeNotSupported', 'The object can only be given as it was registered.')
  return toStoredBlock(material)
}

/** The object that was stored as a block. */
export function toStoredBlock(material: Uint8Array): StructureNode {
  const node = decodeTtlv(material)
  if (node.type !== 'Structure') throw kmipFailure('GeneralFailure', 'The stored object cannot be read.')
  return node
}

/** Converts a key from its canonical form to the requested form. */
export function keyInForm(shape: StoredShape, material: Uint8Array, wanted: WantedForm = {}): KeyInForm {
  const { objectType } = shape
  switch (objectType) {
    case 'PrivateKey':
    case 'PublicKey': {
      if (shape.abe !== undefined) return writeAbeKey(shape, material, wanted)
      const format = wanted.format ?? shape.keyFormat ?? defaultKeyFormat(objectType, shape)
      const node = writeHalf(objectType, shape, material, format, wanted.compression)
      return { format, compression: wanted.compression ?? sameForm(shape, format), material: node }
    }
    case 'SymmetricKey': {
      requireNoCompression(wanted)
      const format = wanted.format ?? shape.keyFormat ?? 'Raw'
      return { format, compression: undefined, material: writeSymmetric(format, material) }
    }
    case 'SecretData': {
      requireNoCompression(wanted)
      const format = wanted.format ?? shape.keyFormat ?? 'Raw'
      if (format !== 'Raw' && format !== 'Opaque')
        throw kmipFailure('KeyFormatTypeNotSupported', 'Secret data does not have this key format type.')
      return { format, compression: undefined, material: byteString(Tag.KeyMaterial, material) }
    }
    default:
      throw kmipFailure('InvalidObjectType', 'Such an object has no key block.')
  }
}

/** The bytes of an attribute-based key have one format. */
function writeAbeKey({ keyFormat }: StoredShape, material: Uint8Array, wanted: WantedForm): KeyInForm {
  requireNoCompression(wanted)
  if (keyFormat === undefined || (wanted.format !== undefined && wanted.format !== keyFormat))
    throw kmipFailure(
      'KeyFormatTypeNotSupported',
      'This key format type is not allowed for attribute-based keys.',
    )
  return { format: keyFormat, compression: undefined, material: byteString(Tag.KeyMaterial, material) }
}

function sameForm(shape: StoredShape, format: KeyFormat): PointCompression | undefined {
  return format === shape.keyFormat ? shape.compression : undefined
}

/**
 * The object around a key.
 * @param value replaces the unwrapped KeyValue: wrapped bytes, or a KeyValue with attributes
 */
export function keyObject(
  shape: StoredShape,
  key: KeyInForm,
  value: TtlvNode = structure(Tag.KeyValue, [key.material]),
  wrapping?: StructureNode,
): StructureNode {
  return objectAround(shape, key, value, wrapping)
}

/**
 * A key of which only the attributes are stored.
 * @throws KeyValueNotPresent for keys that the attributes cannot describe
 */
export function objectWithoutValue(shape: StoredShape): StructureNode {
  const { objectType, keyFormat, compression } = shape
  if (keyFormat === undefined || !described.has(objectType))
    throw kmipFailure('KeyValueNotPresent', 'The service does not have the value of the key.')
  return objectAround(shape, { format: keyFormat, compression }, undefined, undefined)
}

/** Object types that are a key block, and with SecretData its type. */
const described: ReadonlySet<string> = new Set(['SymmetricKey', 'PrivateKey', 'PublicKey', 'SecretData'])

function objectAround(
  { objectType, algorithm, bits, secretDataType }: StoredShape,
  { format, compression }: Pick<KeyInForm, 'format' | 'compression'>,
  value: TtlvNode | undefined,
  wrapping: StructureNode | undefined,
): StructureNode {
  const block = structure(Tag.KeyBlock, [
    enumeration(Tag.KeyFormatType, keyFormatNumber(format)),
    compression === undefined
      ? undefined
      : enumeration(Tag.KeyCompressionType, Enumeration.KeyCompressionType[compression]),
    value,
    algorithm === undefined
      ? undefined
      : enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm]),
    bits === undefined ? undefined : integer(Tag.CryptographicLength, bits),
    wrapping,
  ])
  const type =
    objectType === 'SecretData'
      ? enumeration(Tag.SecretDataType, secretDataType ?? Enumeration.SecretDataType.Password)
      : undefined
  return structure(Tag[objectType], [type, block])
}

function requireFormat(wanted: WantedForm, allowed: readonly KeyFormat[]): void {
  requireNoCompression(wanted)
  if (wanted.format !== undefined && !allowed.includes(wanted.format))
    throw kmipFailure('KeyFormatTypeNotSupported', 'Such an object does not have this key format type.')
}

function requireNoCompression({ compression }: WantedForm): void {
  if (compression !== undefined)
    throw kmipFailure('KeyCompressionTypeNotSupported', 'Only the points of EC public keys are compressed.')
}
