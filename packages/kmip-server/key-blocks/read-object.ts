import { type CurveName, isEcKey } from '@warder/keys'
import {
  encodeTtlv,
  optional,
  optionalName,
  requireMember,
  type StructureNode,
  Tag,
  type TagName,
  type TtlvNode,
  type ValueName,
} from '@warder/kmip-codec'
import type { KeyPolicy } from '@warder/pki'
import { inKmipReasons, kmipFailure } from '../failure/failure.ts'
import { isAbeFormat, readAbeKey } from './abe-keys.ts'
import { type ParsedKey, readHalf } from './asymmetric.ts'
import { type CertificateFacts, certificateFacts } from './certificate-facts.ts'
import { type KeyBlock, readKeyBlock } from './key-block.ts'
import { materialBytes } from './key-format.ts'
import type { WrappingData } from './key-wrapping.ts'
import type { CryptographicAlgorithm, KmipObjectType, StoredShape } from './stored-shape.ts'
import { readSymmetric, symmetricBits } from './symmetric.ts'

/** Facts from the attributes of a request beside the object itself. */
export interface ObjectHints {
  readonly algorithm?: CryptographicAlgorithm | undefined
  readonly bits?: number | undefined
  readonly curve?: CurveName | undefined
  readonly certificateType?: ValueName<'CertificateType'> | undefined
}

/** A managed object in the form for storage. */
export interface StoredObject {
  readonly shape: StoredShape
  /** The caller wipes it. undefined: only the object's attributes are stored (KeyValuePresent is false). */
  readonly material: Uint8Array | undefined
  /** Set for X.509 certificates. */
  readonly certificate: CertificateFacts | undefined
  /** Attributes that came within the KeyValue. */
  readonly attributes: readonly TtlvNode[]
  /** How the key is wrapped, if it was received wrapped. */
  readonly wrapping: WrappingData | undefined
}

/** Maximum length of a secret, password or other small value in a key block, in bytes. */
const maxSecretBytes = 1 << 20

/**
 * Reads a managed object out of a request.
 * @param node SymmetricKey, PrivateKey, Certificate … as received
 * @returns after the test of RSA primes, which runs on the thread pool
 * @throws kmipFailure InvalidField, KeyFormatTypeNotSupported …; KmipDecodeError
 */
export async function readManagedObject(
  type: KmipObjectType,
  node: StructureNode,
  hints: ObjectHints,
  policy: KeyPolicy,
): Promise<StoredObject> {
  switch (type) {
    case 'Certificate':
      return readCertificate(node, hints)
    case 'CertificateRequest':
      return readRequest(node)
    case 'OpaqueObject':
      return {
        shape: {
          objectType: type,
          form: 'canonical',
          keyFormat: undefined,
          opaqueDataType: requireMember(node, Tag.OpaqueDataType, 'Enumeration'),
        },
        material: copy(requireMember(node, Tag.OpaqueDataValue, 'ByteString')),
        certificate: undefined,
        attributes: [],
        wrapping: undefined,
      }
    case 'Template':
      return {
        shape: { objectType: type, form: 'block', keyFormat: undefined },
        material: encodeTtlv(node),
        certificate: undefined,
        attributes: [],
        wrapping: undefined,
      }
    case 'SplitKey':
      requireMembers(node, ['SplitKeyParts', 'KeyPartIdentifier', 'SplitKeyThreshold'], 'Integer')
      requireMembers(node, ['SplitKeyMethod'], 'Enumeration')
      return asBlock(type, node, readKeyBlock(node), hints)
    case 'PGPKey':
      requireMembers(node, ['PGPKeyVersion'], 'Integer')
      return asBlock(type, node, readKeyBlock(node), hints)
    default:
      return readKey(type, node, hints, policy)
  }
}

async function readKey(
  type: 'SymmetricKey' | 'PrivateKey' | 'PublicKey' | 'SecretData',
  node: StructureNode,
  hints: ObjectHints,
  policy: KeyPolicy,
): Promise<StoredObject> {
  const block = readKeyBlock(node)
  const { value } = block
  if (block.wrapping !== undefined || value === undefined || value instanceof Uint8Array)
    return asBlock(type, node, block, hints)
  const claims = reconcileClaims(block, hints)
  const base = {
    objectType: type,
    form: 'canonical',
    keyFormat: block.format,
    ...(block.compression !== undefined && { compression: block.compression }),
  } as const
  const rest = { certificate: undefined, attributes: value.attributes, wrapping: undefined }
  if (type === 'SecretData') {
    if (block.format !== 'Raw' && block.format !== 'Opaque')
      throw kmipFailure('KeyFormatTypeNotSupported', 'Secret data does not have this key format type.')
    const secretDataType = requireMember(node, Tag.SecretDataType, 'Enumeration')
    const material = materialBytes(value.material)
    if (material.length > maxSecretBytes) throw kmipFailure('InvalidField', 'The secret data is too long.')
    return { shape: { ...base, secretDataType, ...describeKey(claims) }, material: copy(material), ...rest }
  }
  if (type === 'SymmetricKey') {
    const material = readSymmetric(block.format, value.material)
    const bits = symmetricBits(material, claims.algorithm, claims.bits, policy)
    return {
      shape: { ...base, ...describeKey({ algorithm: claims.algorithm, bits }) },
      material: copy(material),
      ...rest,
    }
  }
  if (isAbeFormat(block.format))
    return {
      shape: { ...base, ...(await readAbeKey(type, block.format, value.material, claims, policy)) },
      material: copy(materialBytes(value.material)),
      ...rest,
    }
  const parsed = readHalf(type, block.format, value.material, claims, policy)
  if (parsed === undefined) return asBlock(type, node, block, hints)
  const algorithm = reconcileAlgorithm(parsed, claims.algorithm)
  if (claims.bits !== undefined && claims.bits !== parsed.bits)
    throw kmipFailure('InvalidField', 'The length of the key differs from CryptographicLength.')
  if (claims.curve !== undefined && claims.curve !== parsed.curve)
    throw kmipFailure('InvalidField', 'The curve of the key differs from its attributes.')
  try {
    await parsed.check?.()
  } catch (error) {
    throw inKmipReasons(error)
  }
  const { canonical: material, bits, curve, qLength, members, boundAlg } = parsed
  return {
    shape: {
      ...base,
      ...describeKey({ algorithm, bits, curve }),
      ...(qLength !== undefined && { qLength }),
      ...(members !== undefined && { members }),
      ...(boundAlg !== undefined && { boundAlg }),
    },
    material,
    ...rest,
  }
}

type Claims = {
  readonly algorithm: CryptographicAlgorithm | undefined
  readonly bits: number | undefined
  readonly curve: CurveName | undefined
}

/** Joins the facts of block and attributes. @throws InvalidField when they contradict each other */
function reconcileClaims(block: KeyBlock, hints: ObjectHints): Claims {
  for (const name of ['algorithm', 'bits'] as const) {
    if (block[name] !== undefined && hints[name] !== undefined && block[name] !== hints[name])
      throw kmipFailure('InvalidField', 'The key block and the attributes contradict each other.')
  }
  return {
    algorithm: block.algorithm ?? hints.algorithm,
    bits: block.bits ?? hints.bits,
    curve: hints.curve,
  }
}

/** The declared algorithm, if it matches the key; for EC keys the declared use. @throws InvalidField */
function reconcileAlgorithm(
  parsed: ParsedKey,
  claimed: CryptographicAlgorithm | undefined,
): CryptographicAlgorithm {
  if (claimed === undefined || claimed === parsed.algorithm) return parsed.algorithm
  if (isEcKey(claimed) && parsed.curve !== undefined) return claimed
  throw kmipFailure('InvalidField', 'The algorithm of the key differs from CryptographicAlgorithm.')
}

function describeKey({
  algorithm,
  bits,
  curve,
}: Partial<Claims>): Pick<StoredShape, 'algorithm' | 'bits' | 'curve'> {
  return {
    ...(algorithm !== undefined && { algorithm }),
    ...(bits !== undefined && { bits }),
    ...(curve !== undefined && { curve }),
  }
}

/** Stored as received. */
function asBlock(
  type: KmipObjectType,
  node: StructureNode,
  block: KeyBlock,
  hints: ObjectHints,
): StoredObject {
  const claims = reconcileClaims(block, hints)
  const secretDataType = optional(node, Tag.SecretDataType, 'Enumeration')
  if (type === 'SecretData') requireMember(node, Tag.SecretDataType, 'Enumeration')
  const wrapped = block.wrapping !== undefined && block.wrapping.method !== 'MACSign'
  return {
    shape: {
      objectType: type,
      form: 'block',
      keyFormat: block.format,
      ...(block.compression !== undefined && { compression: block.compression }),
      ...describeKey(claims),
      ...(secretDataType !== undefined && { secretDataType }),
      ...(wrapped && { wrapped: true as const }),
    },
    material: block.value === undefined ? undefined : encodeTtlv(node),
    certificate: undefined,
    attributes: block.value === undefined || block.value instanceof Uint8Array ? [] : block.value.attributes,
    wrapping: block.wrapping,
  }
}

function readCertificate(node: StructureNode, hints: ObjectHints): StoredObject {
  const certificateType = optionalName(node, Tag.CertificateType, 'CertificateType')
  if (certificateType === undefined) throw kmipFailure('InvalidField', 'CertificateType is missing.')
  if (hints.certificateType !== undefined && hints.certificateType !== certificateType)
    throw kmipFailure('InvalidField', 'The type of the certificate differs from its attributes.')
  const material = copy(requireMember(node, Tag.CertificateValue, 'ByteString'))
  const certificate = certificateType === 'X_509' ? certificateFacts(material) : undefined
  return {
    shape: {
      objectType: 'Certificate',
      form: 'canonical',
      keyFormat: certificateType === 'X_509' ? 'X_509' : undefined,
      certificateType,
      ...describeKey(certificate?.key ?? {}),
    },
    material,
    certificate,
    attributes: [],
    wrapping: undefined,
  }
}

function readRequest(node: StructureNode): StoredObject {
  const certificateRequestType = optionalName(node, Tag.CertificateRequestType, 'CertificateRequestType')
  if (certificateRequestType === undefined)
    throw kmipFailure('InvalidField', 'CertificateRequestType is missing.')
  return {
    shape: {
      objectType: 'CertificateRequest',
      form: 'canonical',
      keyFormat: certificateRequestType === 'PKCS_10' ? 'PKCS_10' : undefined,
      certificateRequestType,
    },
    material: copy(requireMember(node, Tag.CertificateRequestValue, 'ByteString')),
    certificate: undefined,
    attributes: [],
    wrapping: undefined,
  }
}

function requireMembers(
  node: StructureNode,
  names: readonly TagName[],
  type: 'Integer' | 'Enumeration',
): void {
  for (const name of names) requireMember(node, Tag[name], type)
}

/** The decoder returns views of the whole message. */
function copy(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}
