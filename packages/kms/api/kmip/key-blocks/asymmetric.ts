import { Tag, type TagName } from '@warder/kmip/tables'
import { byteString, optionalName, type StructureNode, type TtlvNode } from '@warder/kmip/ttlv'
import {
  bytePrivateFromRaw,
  bytePublicFromRaw,
  type Curve,
  ecPoint,
  ecPrivateFromScalar,
  ecPrivateFromSec1,
  ecPublicFromPoint,
  ecScalar,
  ecToSec1,
  type KeyPolicy,
  type PointForm,
  privateFromPkcs8,
  pssPrivateFromPkcs8,
  pssPublicFromSpki,
  publicFromSpki,
  requireLoadable,
  requireUsable,
  rsaPrivateFromPkcs1,
  rsaPublicFromPkcs1,
  rsaToPkcs1,
  toRawKey,
} from '@warder/pki/keys'
import { byteKeysOf, type CurveName, curveByName, curveOfFamily } from '../../../keys/index.ts'
import { kmipFailure, withKmipReasons } from '../failure/failure.ts'
import { type KeyFormat, materialBytes, materialStructure } from './key-format.ts'
import { inKmipNames, type ParsedKey, type ReadKey } from './parsed-key.ts'
import type { CryptographicAlgorithm, PointCompression, StoredShape } from './stored-shape.ts'
import { pointOf, scalarOf, transparentEcPrivate, transparentEcPublic } from './transparent-ec.ts'
import { finiteFieldFromTransparent, finiteFieldToTransparent } from './transparent-finite-field.ts'
import { rsaPrivateFromTransparent, rsaPublicFromTransparent, rsaToTransparent } from './transparent-rsa.ts'

export type HalfType = 'PrivateKey' | 'PublicKey'

/** Facts from the attributes about a key whose bytes alone do not tell them. */
export interface KeyHints {
  readonly algorithm: CryptographicAlgorithm | undefined
  readonly curve: CurveName | undefined
}

/**
 * The key in a KeyMaterial of this format; undefined for bytes that are to be kept unread (Opaque).
 * @throws KeyFormatTypeNotSupported for a format that such a key does not have, InvalidField for a wrong key
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
        ? privateOf(materialBytes(material), policy)
        : publicOf(materialBytes(material), policy)
    case 'X_509':
      if (isPrivate) break
      return publicOf(materialBytes(material), policy)
    case 'ECPrivateKey': {
      if (!isPrivate) break
      const outer = hints.curve === undefined ? undefined : curveOf(hints.curve, policy)
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
  throw unsupportedFormat()
}

/** Keys of id-RSASSA-PSS are bound to the algorithm of their parameters. */
const privateOf = (pkcs8: Uint8Array, policy: KeyPolicy): ReadKey =>
  pssPrivateFromPkcs8(pkcs8, policy) ?? privateFromPkcs8(pkcs8, policy)
const publicOf = (spki: Uint8Array, policy: KeyPolicy): ReadKey =>
  pssPublicFromSpki(spki, policy) ?? publicFromSpki(spki, policy)

const transparentTypes: ReadonlyMap<KeyFormat, HalfType> = new Map<KeyFormat, HalfType>([
  ['TransparentRSAPrivateKey', 'PrivateKey'],
  ['TransparentRSAPublicKey', 'PublicKey'],
  ['TransparentDSAPrivateKey', 'PrivateKey'],
  ['TransparentDSAPublicKey', 'PublicKey'],
  ['TransparentDHPrivateKey', 'PrivateKey'],
  ['TransparentDHPublicKey', 'PublicKey'],
  ['TransparentECPrivateKey', 'PrivateKey'],
  ['TransparentECPublicKey', 'PublicKey'],
  ['TransparentECDSAPrivateKey', 'PrivateKey'],
  ['TransparentECDSAPublicKey', 'PublicKey'],
  ['TransparentECDHPrivateKey', 'PrivateKey'],
  ['TransparentECDHPublicKey', 'PublicKey'],
  ['TransparentECMQVPrivateKey', 'PrivateKey'],
  ['TransparentECMQVPublicKey', 'PublicKey'],
])

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
  const bytes = isPrivate ? scalarOf(material) : pointOf(material)
  const family = name === undefined ? undefined : byteKeysOf(undefined, name)
  if (family !== undefined) {
    // A number has lost the zeros in front that these keys have like any other byte.
    const whole = Buffer.alloc(Math.max(bytes.length, family.publicBytes))
    whole.set(bytes, whole.length - bytes.length)
    return isPrivate ? bytePrivateFromRaw(whole, family, policy) : bytePublicFromRaw(whole, family, policy)
  }
  const curve = curveOf(name, policy)
  return isPrivate ? ecPrivateFromScalar(bytes, curve, policy) : ecPublicFromPoint(bytes, curve)
}

function rawHalf(type: HalfType, bytes: Uint8Array, hints: KeyHints, policy: KeyPolicy): ReadKey {
  const family = byteKeysOf(hints.algorithm, hints.curve)
  if (family !== undefined)
    return type === 'PrivateKey'
      ? bytePrivateFromRaw(bytes, family, policy)
      : bytePublicFromRaw(bytes, family, policy)
  if (!isEcAlgorithm(hints.algorithm)) throw unsupportedFormat()
  const curve = curveOf(hints.curve, policy)
  return type === 'PrivateKey' ? ecPrivateFromScalar(bytes, curve, policy) : ecPublicFromPoint(bytes, curve)
}

/** The curve that KMIP calls so. @throws KmipFailure, PkiError */
function curveOf(name: CurveName | undefined, policy: KeyPolicy): Curve {
  if (name === undefined) throw kmipFailure('InvalidField', 'The curve of the key is missing.')
  return requireUsable(curveByName(name), policy)
}

/** EC, ECDSA, ECDH and ECMQV are one kind of key: which of them is said is a matter of use. */
export function isEcAlgorithm(algorithm: CryptographicAlgorithm | undefined): boolean {
  return algorithm === 'EC' || algorithm === 'ECDSA' || algorithm === 'ECDH' || algorithm === 'ECMQV'
}

/** The format in which such a key is given when none is asked for (KMIP 2.1 §4.26). */
export function defaultFormat(type: HalfType, shape: Pick<StoredShape, 'algorithm' | 'curve'>): KeyFormat {
  const isPrivate = type === 'PrivateKey'
  if (shape.algorithm === 'RSA') return 'PKCS_1'
  if (shape.algorithm === 'DSA') return isPrivate ? 'TransparentDSAPrivateKey' : 'TransparentDSAPublicKey'
  if (shape.algorithm === 'DH') return isPrivate ? 'TransparentDHPrivateKey' : 'TransparentDHPublicKey'
  if (isEcAlgorithm(shape.algorithm) && shape.curve !== undefined && curveByName(shape.curve) !== undefined)
    return isPrivate ? 'TransparentECPrivateKey' : 'TransparentECPublicKey'
  return isPrivate ? 'PKCS_8' : 'X_509'
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
  const isPrivate = type === 'PrivateKey'
  const bytes = (value: Uint8Array) => byteString(Tag.KeyMaterial, value)
  const curve =
    isEcAlgorithm(shape.algorithm) && shape.curve !== undefined ? curveByName(shape.curve) : undefined
  if (compression !== undefined && (curve === undefined || isPrivate))
    throw kmipFailure('KeyCompressionTypeNotSupported', 'Only the points of EC public keys are compressed.')
  const form = compression === undefined ? undefined : forms[compression]
  const family = byteKeysOf(shape.algorithm, shape.curve)
  switch (format) {
    case 'PKCS_1':
      if (shape.algorithm !== 'RSA') break
      return bytes(rsaToPkcs1(type, canonical))
    case 'PKCS_8':
    case 'X_509':
      if (isPrivate && format === 'X_509') break
      if (curve === undefined || form === undefined || isPrivate) return bytes(canonical)
      return bytes(ecPublicFromPoint(ecPoint(canonical, curve, form), curve).canonical)
    case 'ECPrivateKey':
      if (!isPrivate || curve === undefined) break
      return bytes(ecToSec1(canonical, curve, shape.keyFormat === 'ECPrivateKey'))
    case 'Raw':
      if (family !== undefined) return bytes(toRawKey(type, canonical, family))
      if (curve !== undefined) return bytes(isPrivate ? ecScalar(canonical) : ecPoint(canonical, curve, form))
      break
    default:
      if (transparentTypes.get(format) === type) {
        const written = writeTransparent(type, shape, canonical, format, form)
        if (written !== undefined) return written
      }
  }
  throw unsupportedFormat()
}

function writeTransparent(
  type: HalfType,
  shape: StoredShape,
  canonical: Uint8Array,
  format: KeyFormat,
  form: PointForm | undefined,
): TtlvNode | undefined {
  const isPrivate = type === 'PrivateKey'
  if (format.startsWith('TransparentRSA')) {
    const asRegistered: readonly TagName[] | undefined =
      shape.keyFormat === format ? shape.members : undefined
    return shape.algorithm === 'RSA' ? rsaToTransparent(type, canonical, asRegistered) : undefined
  }
  if (format.startsWith('TransparentDSA') || format.startsWith('TransparentDH')) {
    const algorithm = format.startsWith('TransparentDSA') ? 'DSA' : 'DH'
    return shape.algorithm === algorithm ? finiteFieldToTransparent(type, canonical) : undefined
  }
  const family = byteKeysOf(shape.algorithm, shape.curve)
  // Ed25519 and Ed448 name their curve by the algorithm alone.
  const name = shape.curve ?? (family === undefined ? undefined : curveOfFamily(family))
  if (name === undefined) return undefined
  if (family !== undefined) {
    const raw = toRawKey(type, canonical, family)
    return isPrivate ? transparentEcPrivate(name, raw) : transparentEcPublic(name, raw)
  }
  const curve = curveByName(name)
  if (curve === undefined) return undefined
  return isPrivate
    ? transparentEcPrivate(name, ecScalar(canonical))
    : transparentEcPublic(name, ecPoint(canonical, curve, form))
}

function unsupportedFormat() {
  return kmipFailure('KeyFormatTypeNotSupported', 'Such a key does not have this key format type.')
}
