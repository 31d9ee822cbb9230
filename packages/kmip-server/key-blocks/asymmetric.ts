import {
  type AlgorithmName,
  type CurveName,
  curveByName,
  domainMembers,
  ellipticCurve,
  findByteKeyFamily,
  type HalfType,
  isEcKey,
  type KeyFormat,
  kmipKeyKind,
  rsaMembers,
  transparentTypes,
  writeKeyMaterial,
} from '@warder/keys'
import {
  optional,
  optionalName,
  requireMember,
  type StructureNode,
  Tag,
  type TagName,
  type TtlvNode,
  toMagnitude,
} from '@warder/kmip-codec'
import {
  bytePrivateFromRaw,
  bytePublicFromRaw,
  type Curve,
  type Domain,
  ecPrivateFromScalar,
  ecPrivateFromSec1,
  ecPublicFromPoint,
  finiteFieldFromNumbers,
  type KeyPolicy,
  type ParsedKey as PkiKey,
  type PointForm,
  privateFromPkcs8,
  pssPrivateFromPkcs8,
  pssPublicFromSpki,
  publicFromSpki,
  type RsaNumbers,
  requireLoadable,
  requireUsable,
  rsaPrivateFromNumbers,
  rsaPrivateFromPkcs1,
  rsaPublicFromNumbers,
  rsaPublicFromPkcs1,
} from '@warder/pki'
import { kmipFailure, withKmipReasons } from '../failure/failure.ts'
import { materialBytes, materialStructure } from './key-format.ts'
import type { CryptographicAlgorithm, PointCompression, StoredShape } from './stored-shape.ts'

/** A parsed key, described with KMIP names. */
export interface ParsedKey {
  /** Raw bytes, PKCS#8 DER or SPKI DER. The caller wipes it. */
  readonly canonical: Uint8Array
  readonly algorithm: AlgorithmName
  /** CryptographicLength, in bits. */
  readonly bits: number
  readonly curve?: CurveName
  /** Of DSA and DH: bits of Q. */
  readonly qLength?: number
  /** The members that were present, if a transparent form omitted some. */
  readonly members?: readonly TagName[]
  /** The only JOSE algorithm of the key. */
  readonly boundAlg?: string
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}

/** A parsed key, with the members that were present if a transparent form omitted some. */
type ReadKey = PkiKey & { readonly members?: readonly TagName[]; readonly boundAlg?: string }

/** A key described with KMIP names. */
function inKmipNames({ algorithm, curve, ...rest }: ReadKey): ParsedKey {
  return { ...rest, ...kmipKeyKind({ algorithm, ...(curve !== undefined && { curve }) }) }
}

/** Requires the modulus, and enough members to compute the others. @throws PkiError */
function rsaPrivateFromTransparent(material: StructureNode, policy: KeyPolicy): ReadKey {
  const given: Partial<Record<keyof RsaNumbers, Uint8Array>> = {}
  const members: TagName[] = []
  for (const [name, number] of rsaMembers) {
    const value = readNumber(material, name)
    if (value === undefined) continue
    given[number] = value
    members.push(name)
  }
  const parsed = rsaPrivateFromNumbers(given, policy)
  return members.length === rsaMembers.length ? parsed : { ...parsed, members }
}

function rsaPublicFromTransparent(material: StructureNode, policy: KeyPolicy): ReadKey {
  const [n, e] = [readNumber(material, 'Modulus'), readNumber(material, 'PublicExponent')]
  if (n === undefined || e === undefined)
    throw kmipFailure('InvalidField', 'An RSA public key has a modulus and a public exponent.')
  return rsaPublicFromNumbers(n, e, policy)
}

function readNumber(material: StructureNode, name: TagName): Uint8Array | undefined {
  const value = optional(material, Tag[name], 'BigInteger')
  return value === undefined ? undefined : toMagnitude({ tag: Tag[name], type: 'BigInteger', value })
}

/** Facts from the attributes about a key whose bytes do not contain them. */
interface KeyHints {
  readonly algorithm: CryptographicAlgorithm | undefined
  readonly curve: CurveName | undefined
}

/**
 * Reads the key from a KeyMaterial of this format; undefined for bytes that are stored uninterpreted (Opaque).
 * @throws KeyFormatTypeNotSupported for a format that such a key does not have, InvalidField for an invalid key
 */
export function readHalf(
  type: HalfType,
  format: KeyFormat,
  material: TtlvNode,
  hints: KeyHints,
  policy: KeyPolicy,
): ParsedKey | undefined {
  return withKmipReasons(() => {
    const read = readForm(type, format, material, hints, policy)
    if (read === undefined) return undefined
    requireLoadable(type, read)
    return inKmipNames(read)
  })
}

function readForm(
  type: HalfType,
  format: KeyFormat,
  material: TtlvNode,
  hints: KeyHints,
  policy: KeyPolicy,
): ReadKey | undefined {
  const isPrivate = type === 'PrivateKey'
  switch (format) {
    case 'PKCS_1':
      return isPrivate
        ? rsaPrivateFromPkcs1(materialBytes(material), policy)
        : rsaPublicFromPkcs1(materialBytes(material), policy)
    case 'PKCS_8':
      return isPrivate
        ? readPrivate(materialBytes(material), policy)
        : readPublic(materialBytes(material), policy)
    case 'X_509':
      if (isPrivate) break
      return readPublic(materialBytes(material), policy)
    case 'ECPrivateKey': {
      if (!isPrivate) break
      const outer = hints.curve === undefined ? undefined : requireCurve(hints.curve, policy)
      return ecPrivateFromSec1(materialBytes(material), outer, policy)
    }
    case 'Raw':
      return rawHalf(type, materialBytes(material), hints, policy)
    case 'Opaque':
      materialBytes(material)
      return undefined
    default:
      if (transparentTypes.get(format) === type)
        return transparentHalf(type, format, materialStructure(material), policy)
  }
  throw createUnsupportedFormat()
}

/** Keys of id-RSASSA-PSS are bound to the algorithm of their parameters. */
const readPrivate = (pkcs8: Uint8Array, policy: KeyPolicy): ReadKey =>
  pssPrivateFromPkcs8(pkcs8, policy) ?? privateFromPkcs8(pkcs8, policy)
const readPublic = (spki: Uint8Array, policy: KeyPolicy): ReadKey =>
  pssPublicFromSpki(spki, policy) ?? publicFromSpki(spki, policy)

function transparentHalf(
  type: HalfType,
  format: KeyFormat,
  material: StructureNode,
  policy: KeyPolicy,
): ReadKey {
  const isPrivate = type === 'PrivateKey'
  if (format.startsWith('TransparentRSA'))
    return isPrivate
      ? rsaPrivateFromTransparent(material, policy)
      : rsaPublicFromTransparent(material, policy)
  if (format.startsWith('TransparentDSA')) return finiteFieldFromTransparent(type, 'DSA', material, policy)
  if (format.startsWith('TransparentDH')) return finiteFieldFromTransparent(type, 'DH', material, policy)
  const name = optionalName(material, Tag.RecommendedCurve, 'RecommendedCurve')
  const bytes = isPrivate ? readScalar(material) : readPoint(material)
  const family = name === undefined ? undefined : findByteKeyFamily(undefined, name)
  if (family !== undefined) {
    // A number has lost its leading zero bytes, which belong to these keys.
    const whole = Buffer.alloc(Math.max(bytes.length, family.publicBytes))
    whole.set(bytes, whole.length - bytes.length)
    return isPrivate ? bytePrivateFromRaw(whole, family, policy) : bytePublicFromRaw(whole, family, policy)
  }
  const curve = requireCurve(name, policy)
  return isPrivate ? ecPrivateFromScalar(bytes, curve, policy) : ecPublicFromPoint(bytes, curve)
}

function rawHalf(type: HalfType, bytes: Uint8Array, hints: KeyHints, policy: KeyPolicy): ReadKey {
  const family = findByteKeyFamily(hints.algorithm, hints.curve)
  if (family !== undefined)
    return type === 'PrivateKey'
      ? bytePrivateFromRaw(bytes, family, policy)
      : bytePublicFromRaw(bytes, family, policy)
  if (!isEcKey(hints.algorithm)) throw createUnsupportedFormat()
  const curve = requireCurve(hints.curve, policy)
  return type === 'PrivateKey' ? ecPrivateFromScalar(bytes, curve, policy) : ecPublicFromPoint(bytes, curve)
}

/** The curve with this KMIP name. @throws KmipFailure, PkiError */
function requireCurve(name: CurveName | undefined, policy: KeyPolicy): Curve {
  if (name === undefined) throw kmipFailure('InvalidField', 'The curve of the key is missing.')
  return requireUsable(curveByName(name), policy)
}

const forms: Readonly<Record<PointCompression, PointForm>> = {
  ECPublicKeyTypeUncompressed: 'uncompressed',
  ECPublicKeyTypeX9_62CompressedPrime: 'compressed',
  ECPublicKeyTypeX9_62CompressedChar2: 'compressed',
  ECPublicKeyTypeX9_62Hybrid: 'hybrid',
}

/**
 * KeyMaterial of a stored key in this format.
 * @param compression how to write the point of an EC public key; as it was registered when undefined
 * @throws KeyFormatTypeNotSupported, KeyCompressionTypeNotSupported
 */
export function writeHalf(
  type: HalfType,
  shape: StoredShape,
  canonical: Uint8Array,
  format: KeyFormat,
  compression?: PointCompression,
): TtlvNode {
  if (compression !== undefined && (type === 'PrivateKey' || ellipticCurve(shape) === undefined))
    throw kmipFailure('KeyCompressionTypeNotSupported', 'Only the points of EC public keys are compressed.')
  const form = compression === undefined ? undefined : forms[compression]
  const written = writeKeyMaterial(type, shape, canonical, format, form)
  if (written === undefined) throw createUnsupportedFormat()
  return written
}

function createUnsupportedFormat() {
  return kmipFailure(
    'KeyFormatTypeNotSupported',
    'This key format type is not allowed for attribute-based keys.',
  )
}

/** D of a transparent private key: a number (KMIP 2.1), or bytes as some clients send it. */
function readScalar(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.D)
  if (member?.type === 'ByteString') return requireMember(material, Tag.D, 'ByteString')
  return toMagnitude({ tag: Tag.D, type: 'BigInteger', value: requireMember(material, Tag.D, 'BigInteger') })
}

/** Q of a transparent public key: bytes of a point (KMIP 2.1), or a number holding them. */
function readPoint(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.QString)
  if (member?.type === 'BigInteger')
    return toMagnitude({
      tag: Tag.QString,
      type: 'BigInteger',
      value: requireMember(material, Tag.QString, 'BigInteger'),
    })
  return optional(material, Tag.QString, 'ByteString') ?? requireMember(material, Tag.QString, 'ByteString')
}

/** {P, Q, G, X} and the like. @throws PkiError, KmipFailure InvalidField */
function finiteFieldFromTransparent(
  type: 'PrivateKey' | 'PublicKey',
  algorithm: 'DSA' | 'DH',
  material: StructureNode,
  policy: KeyPolicy,
): ReadKey {
  const domain: Domain = {}
  for (const name of domainMembers[algorithm]) {
    const value = readNumber(material, name)
    if (value !== undefined) domain[name] = value
  }
  const own = readNumber(material, type === 'PrivateKey' ? 'X' : 'Y')
  if (own === undefined) throw kmipFailure('InvalidField', 'The key has no number of its own.')
  return finiteFieldFromNumbers(type, algorithm, domain, own, policy)
}
