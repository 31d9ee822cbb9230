import {
  byteString,
  Enumeration,
  encodeTtlv,
  enumeration,
  keyFormatIn,
  type StructureNode,
  structure,
  Tag,
  type TagName,
  type TtlvNode,
  toBigInteger,
  type ValueName,
  valueByName,
  valueName,
} from '@warder/kmip-codec'
import {
  type Curve,
  type DomainNumber,
  ecPoint,
  ecPublicFromPoint,
  ecScalar,
  ecToSec1,
  finiteFieldNumbers,
  type PointForm,
  type RsaNumbers,
  readRsaNumbers,
  rsaToPkcs1,
  toRawKey,
} from '@warder/pki'
import type { StoredValue } from './attribute-table.ts'
import { digestAttribute } from './certificate-attributes.ts'
import {
  type AlgorithmName,
  type CurveName,
  curveByName,
  curveOfFamily,
  findByteKeyFamily,
} from './key-names.ts'
import { toStoredValue } from './object-attributes.ts'

/** 1.x has EC forms by use (TransparentECDSAPrivateKey …) beside those of 2.x; all of them are read and written. */
export type KeyFormat = ValueName<'KeyFormatType'>

export type HalfType = 'PrivateKey' | 'PublicKey'

/** Facts about the half of a pair in addition to its bytes. */
export interface KeyShape {
  readonly algorithm?: AlgorithmName | undefined
  readonly curve?: CurveName | undefined
  /** As registered. */
  readonly keyFormat?: KeyFormat | undefined
  /** Members of a transparent key that were given, when not all were. */
  readonly members?: readonly TagName[]
}

/** Formats of the members of a key, with the halves that have them. */
export const transparentTypes: ReadonlyMap<KeyFormat, HalfType> = new Map<KeyFormat, HalfType>([
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

/** EC, ECDSA, ECDH and ECMQV are one kind of key: the name only shows its use. */
export function isEcKey(algorithm: AlgorithmName | undefined): boolean {
  return algorithm === 'EC' || algorithm === 'ECDSA' || algorithm === 'ECDH' || algorithm === 'ECMQV'
}

/** The curve of an EC key that has points. */
export function ellipticCurve({ algorithm, curve }: KeyShape): Curve | undefined {
  return isEcKey(algorithm) && curve !== undefined ? curveByName(curve) : undefined
}

/** The format in which such a key is returned if the request has none (KMIP 2.1 §4.26). */
export function defaultKeyFormat(type: HalfType, shape: KeyShape): KeyFormat {
  const isPrivate = type === 'PrivateKey'
  if (shape.algorithm === 'RSA') return 'PKCS_1'
  if (shape.algorithm === 'DSA') return isPrivate ? 'TransparentDSAPrivateKey' : 'TransparentDSAPublicKey'
  if (shape.algorithm === 'DH') return isPrivate ? 'TransparentDHPrivateKey' : 'TransparentDHPublicKey'
  if (ellipticCurve(shape) !== undefined)
    return isPrivate ? 'TransparentECPrivateKey' : 'TransparentECPublicKey'
  return isPrivate ? 'PKCS_8' : 'X_509'
}

/**
 * KeyMaterial of a stored half in this format.
 * @param form of the point of an EC public key; undefined = as it was registered
 * @returns undefined for a format that such a key does not have
 */
export function writeKeyMaterial(
  type: HalfType,
  shape: KeyShape,
  canonical: Uint8Array,
  format: KeyFormat,
  form?: PointForm,
): TtlvNode | undefined {
  const isPrivate = type === 'PrivateKey'
  const bytes = (value: Uint8Array) => byteString(Tag.KeyMaterial, value)
  const curve = ellipticCurve(shape)
  const family = findByteKeyFamily(shape.algorithm, shape.curve)
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
        return writeTransparent(type, shape, canonical, format, form)
      }
  }
  return undefined
}

function writeTransparent(
  type: HalfType,
  shape: KeyShape,
  canonical: Uint8Array,
  format: KeyFormat,
  form: PointForm | undefined,
): TtlvNode | undefined {
  const isPrivate = type === 'PrivateKey'
  if (format.startsWith('TransparentRSA')) {
    const asRegistered: readonly TagName[] | undefined =
      shape.keyFormat === format ? shape.members : undefined
    return shape.algorithm === 'RSA' ? writeRsa(type, canonical, asRegistered) : undefined
  }
  if (format.startsWith('TransparentDSA') || format.startsWith('TransparentDH')) {
    const algorithm = format.startsWith('TransparentDSA') ? 'DSA' : 'DH'
    return shape.algorithm === algorithm ? writeFiniteField(type, canonical) : undefined
  }
  const family = findByteKeyFamily(shape.algorithm, shape.curve)
  // Ed25519 and Ed448 name their curve by the algorithm alone.
  const name = shape.curve ?? (family === undefined ? undefined : curveOfFamily(family))
  if (name === undefined) return undefined
  if (family !== undefined) {
    const raw = toRawKey(type, canonical, family)
    return isPrivate ? writeEcPrivate(name, raw) : writeEcPublic(name, raw)
  }
  const curve = curveByName(name)
  if (curve === undefined) return undefined
  return isPrivate
    ? writeEcPrivate(name, ecScalar(canonical))
    : writeEcPublic(name, ecPoint(canonical, curve, form))
}

/** KMIP 2.1 §3.1.4: {RecommendedCurve, D} and {RecommendedCurve, QString}. */
function writeEcPrivate(curve: CurveName, d: Uint8Array): StructureNode {
  return structure(Tag.KeyMaterial, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve]),
    toBigInteger(Tag.D, d),
  ])
}

function writeEcPublic(curve: CurveName, point: Uint8Array): StructureNode {
  return structure(Tag.KeyMaterial, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve]),
    byteString(Tag.QString, point),
  ])
}

/** The members of a transparent private key (KMIP 2.1 §3.1.4) in the order in which KMIP lists them. */
export const rsaMembers = [
  ['Modulus', 'n'],
  ['PrivateExponent', 'd'],
  ['PublicExponent', 'e'],
  ['P', 'p'],
  ['Q', 'q'],
  ['PrimeExponentP', 'dp'],
  ['PrimeExponentQ', 'dq'],
  ['CRTCoefficient', 'qi'],
] as const satisfies readonly (readonly [TagName, keyof RsaNumbers])[]

const rsaPublicMembers = rsaMembers.filter(([name]) => name === 'Modulus' || name === 'PublicExponent')

/** @param members those to write of a private key; all when undefined */
function writeRsa(
  type: HalfType,
  canonical: Uint8Array,
  members: readonly TagName[] | undefined,
): StructureNode {
  const numbers = readRsaNumbers(type, canonical)
  return structure(
    Tag.KeyMaterial,
    (type === 'PublicKey' ? rsaPublicMembers : rsaMembers).map(([name, number]) => {
      const value = numbers[number]
      const wanted = members === undefined || type === 'PublicKey' || members.includes(name)
      return value === undefined || !wanted ? undefined : toBigInteger(Tag[name], value)
    }),
  )
}

/** The domain parameters that KMIP lists (KMIP 2.1 §3.1.4), in its order; X and Y are the keys themselves. */
export const domainMembers: Readonly<Record<'DSA' | 'DH', readonly DomainNumber[]>> = {
  DSA: ['P', 'Q', 'G'],
  DH: ['P', 'Q', 'G', 'J'],
}

function writeFiniteField(type: HalfType, canonical: Uint8Array): StructureNode | undefined {
  const numbers = finiteFieldNumbers(type, canonical)
  if (numbers === undefined) return undefined
  const { algorithm, domain, own } = numbers
  return structure(Tag.KeyMaterial, [
    ...domainMembers[algorithm].map((name) => {
      const value = domain[name]
      return value === undefined ? undefined : toBigInteger(Tag[name], value)
    }),
    toBigInteger(type === 'PrivateKey' ? Tag.X : Tag.Y, own),
  ])
}

/** Formats in which a key has a digest: its own, then the default one of its kind if that differs. */
export function digestFormats(own: KeyFormat, standard: KeyFormat): readonly KeyFormat[] {
  return own === standard || inNamesOf2x(own) === standard ? [own] : [own, standard]
}

/** The formats of EC keys by use, of 1.x, are one in 2.x: their KeyMaterial is the same. */
function inNamesOf2x(format: KeyFormat): KeyFormat | undefined {
  return valueName('KeyFormatType', keyFormatIn('2.1', Enumeration.KeyFormatType[format], undefined))
}

/**
 * The attributes of one half of a pair that was generated here: Digest, in the requested and the default format (KMIP
 * 2.1 §4.20, docs/adr/kmip-attributes.md), KeyFormatType, and the curve.
 * @param asked requested format; a half that does not have it gets its default
 */
export function madeKeyAttributes(
  type: HalfType,
  shape: Pick<KeyShape, 'algorithm' | 'curve'>,
  canonical: Uint8Array,
  asked: string | undefined,
): readonly StoredValue[] {
  const standard = defaultKeyFormat(type, shape)
  const format = valueName('KeyFormatType', valueByName('KeyFormatType', asked ?? '') ?? 0) ?? standard
  // PKCS#8 is a format of private keys (RFC 5208).
  const isOther = format === 'PKCS_8' && type === 'PublicKey'
  const own = isOther || write(type, shape, canonical, format) === undefined ? standard : format
  return [
    ...digestFormats(own, standard).flatMap((one) => {
      const bytes = write(type, { ...shape, keyFormat: own }, canonical, one)
      return bytes === undefined ? [] : [digestAttribute(bytes, one)]
    }),
    toStoredValue('KeyFormatType', own),
    ...(shape.curve === undefined
      ? []
      : [
          toStoredValue('CryptographicDomainParameters', [
            { tag: 'RecommendedCurve', type: 'Enumeration', value: shape.curve },
          ]),
        ]),
  ]
}

/** A transparent KeyMaterial is hashed as its TTLV encoding. */
function write(
  type: HalfType,
  shape: KeyShape,
  canonical: Uint8Array,
  format: KeyFormat,
): Uint8Array | undefined {
  const node = writeKeyMaterial(type, shape, canonical, format)
  return node?.type === 'ByteString' ? node.value : node && encodeTtlv(node)
}
