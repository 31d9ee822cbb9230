import {
  defaultAlgorithm,
  defaultKeyFormat,
  type KeyFormat,
  type ManagedObject,
  type MaterialForm,
  readStoredWithTag,
  toStoredKeyKind,
} from '@warder/keys'
import {
  boolean,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TagName,
  type TtlvNode,
  textString,
  valueByName,
  valueName,
} from '@warder/kmip-codec'
import { certificateNodes } from './certificate-facts.ts'
import { digestAttributes } from './digest.ts'
import { keyFormatName, keyFormatNumber } from './key-format.ts'
import type { StoredObject } from './read-object.ts'
import {
  abeFormat,
  type CryptographicAlgorithm,
  type PointCompression,
  type StoredShape,
} from './stored-shape.ts'

/** Members for `stageNewObject` from an object that was read out of a request. */
export function toStoredColumns({ shape, certificate, wrapping, material }: StoredObject) {
  const { algorithm, bits, curve, form } = shape
  const kind = algorithm === undefined ? undefined : toStoredKeyKind({ algorithm, curve })
  const materialForm: MaterialForm = {
    ...(form === 'block' && { format: 'block' }),
    ...(shape.secretDataType !== undefined && { secretDataType: shape.secretDataType }),
    ...(shape.certificateRequestType !== undefined && {
      certificateRequestType: shape.certificateRequestType,
    }),
    ...(shape.compression !== undefined && { compression: shape.compression }),
    ...(shape.members !== undefined && { members: shape.members }),
    ...(shape.wrapped === true && { wrapped: true }),
    ...(shape.abe !== undefined && { abe: shape.abe }),
  }
  const digested =
    material !== undefined &&
    shape.abe === undefined &&
    shape.wrapped !== true &&
    shape.objectType !== 'Template'
  const given: readonly (TtlvNode | undefined)[] = [
    algorithm === undefined
      ? undefined
      : enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm]),
    domainParameters(shape),
    shape.keyFormat === undefined || shape.abe !== undefined
      ? undefined
      : enumeration(Tag.KeyFormatType, keyFormatNumber(shape.keyFormat)),
    shape.opaqueDataType === undefined ? undefined : enumeration(Tag.OpaqueDataType, shape.opaqueDataType),
    shape.certificateType === undefined
      ? undefined
      : enumeration(Tag.CertificateType, Enumeration.CertificateType[shape.certificateType]),
    ...(certificate === undefined ? [] : certificateNodes(certificate)),
    ...(digested ? digestAttributes(shape, material) : []),
    material === undefined ? boolean(Tag.KeyValuePresent, false) : undefined,
    wrappingKeyLink(wrapping?.encryption?.identifier),
  ]
  return {
    algorithm: kind?.algorithm,
    bits,
    curve: kind?.curve,
    boundAlg: shape.boundAlg ?? kind?.boundAlg,
    form: materialForm,
    given: given.filter((node) => node !== undefined),
  }
}

function domainParameters({ objectType, curve, qLength }: StoredShape): TtlvNode | undefined {
  if (objectType !== 'PrivateKey' && objectType !== 'PublicKey') return undefined
  if (curve === undefined && qLength === undefined) return undefined
  return structure(Tag.CryptographicDomainParameters, [
    qLength === undefined ? undefined : integer(Tag.Qlength, qLength),
    curve === undefined ? undefined : enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve]),
  ])
}

function wrappingKeyLink(identifier: TtlvNode | undefined): TtlvNode | undefined {
  if (identifier?.type !== 'TextString' || identifier.value === '') return undefined
  return structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.WrappingKeyLink),
    textString(Tag.LinkedObjectIdentifier, identifier.value),
  ])
}

/** The form of the material of a stored object, whether it was created over KMIP or REST. */
export function readShape(object: ManagedObject): StoredShape {
  const members = object.form
  const algorithm = readAlgorithm(object)
  const curve = object.curve === undefined ? undefined : valueByName('RecommendedCurve', object.curve)
  const curveName = curve === undefined ? undefined : valueName('RecommendedCurve', curve)
  const described = {
    ...(algorithm !== undefined && { algorithm }),
    ...(object.bits !== undefined && { bits: object.bits }),
    ...(curveName !== undefined && { curve: curveName }),
  }
  const secretDataType = toNumber('SecretDataType', members.secretDataType)
  const certificateType = valueName('CertificateType', findStored(object, Tag.CertificateType) ?? 0)
  const opaqueDataType = findStored(object, Tag.OpaqueDataType)
  return {
    objectType: object.type,
    form: members.format === undefined ? 'canonical' : 'block',
    keyFormat: readFormat(object, described),
    ...described,
    ...(members.compression !== undefined && { compression: members.compression as PointCompression }),
    ...(members.members !== undefined && { members: members.members as readonly TagName[] }),
    ...(secretDataType !== undefined && { secretDataType }),
    ...(opaqueDataType !== undefined && { opaqueDataType }),
    ...(certificateType !== undefined && { certificateType }),
    ...(members.certificateRequestType !== undefined && {
      certificateRequestType: members.certificateRequestType as 'PKCS_10',
    }),
    ...(members.abe !== undefined && { abe: members.abe }),
    ...(members.wrapped === true && { wrapped: true as const }),
  }
}

function readFormat(
  object: ManagedObject,
  described: Pick<StoredShape, 'algorithm' | 'curve'>,
): KeyFormat | undefined {
  if (object.form.abe !== undefined) return abeFormat(object)
  const value = findStored(object, Tag.KeyFormatType)
  const name = value === undefined ? undefined : keyFormatName(value)
  if (name !== undefined) return name
  switch (object.type) {
    case 'PrivateKey':
    case 'PublicKey':
      return defaultKeyFormat(object.type, described)
    case 'SymmetricKey':
    case 'SecretData':
      return 'Raw'
    default:
      return undefined
  }
}

/** The KMIP name of an object's algorithm. */
export function readAlgorithm(object: ManagedObject): CryptographicAlgorithm | undefined {
  const value = findStored(object, Tag.CryptographicAlgorithm) ?? defaultAlgorithm(object)?.value
  return value === undefined ? undefined : valueName('CryptographicAlgorithm', value)
}

function findStored(object: ManagedObject, tag: number): number | undefined {
  const [node] = readStoredWithTag(object, tag)
  return node?.type === 'Enumeration' ? node.value : undefined
}

function toNumber(enumeration: 'SecretDataType', value: number | string | undefined): number | undefined {
  return typeof value === 'string' ? valueByName(enumeration, value) : value
}
