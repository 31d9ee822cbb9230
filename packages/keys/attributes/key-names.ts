import { hmacs, keyTypes } from '@warder/crypto'
import { type ValueName, valueByName, valueName } from '@warder/kmip-codec'
import {
  type ByteKeyAlgorithm,
  type ByteKeyFamily,
  byteKeyFamilies,
  type Curve,
  curveByName as curveByOpensslName,
  type ParsedKey as PkiKey,
} from '@warder/pki'
import type { ObjectAttributes } from './object-attributes.ts'

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>
export type CurveName = ValueName<'RecommendedCurve'>

/** RecommendedCurve (KMIP 2.1 §11.45), with the names of the same curves in OpenSSL. */
const curves = new Map<CurveName, string>(
  Object.entries({
    P_192: 'prime192v1',
    P_224: 'secp224r1',
    P_256: 'prime256v1',
    P_384: 'secp384r1',
    P_521: 'secp521r1',
    K_163: 'sect163k1',
    B_163: 'sect163r2',
    K_233: 'sect233k1',
    B_233: 'sect233r1',
    K_283: 'sect283k1',
    B_283: 'sect283r1',
    K_409: 'sect409k1',
    B_409: 'sect409r1',
    K_571: 'sect571k1',
    B_571: 'sect571r1',
    SECP160K1: 'secp160k1',
    SECP160R1: 'secp160r1',
    SECP160R2: 'secp160r2',
    SECP192K1: 'secp192k1',
    SECP224K1: 'secp224k1',
    SECP256K1: 'secp256k1',
    SECT193R1: 'sect193r1',
    SECT193R2: 'sect193r2',
    SECT239K1: 'sect239k1',
    ANSIX9P192V2: 'prime192v2',
    ANSIX9P192V3: 'prime192v3',
    ANSIX9P239V1: 'prime239v1',
    ANSIX9P239V2: 'prime239v2',
    ANSIX9P239V3: 'prime239v3',
    BRAINPOOLP160R1: 'brainpoolP160r1',
    BRAINPOOLP160T1: 'brainpoolP160t1',
    BRAINPOOLP192R1: 'brainpoolP192r1',
    BRAINPOOLP192T1: 'brainpoolP192t1',
    BRAINPOOLP224R1: 'brainpoolP224r1',
    BRAINPOOLP224T1: 'brainpoolP224t1',
    BRAINPOOLP256R1: 'brainpoolP256r1',
    BRAINPOOLP256T1: 'brainpoolP256t1',
    BRAINPOOLP320R1: 'brainpoolP320r1',
    BRAINPOOLP320T1: 'brainpoolP320t1',
    BRAINPOOLP384R1: 'brainpoolP384r1',
    BRAINPOOLP384T1: 'brainpoolP384t1',
    BRAINPOOLP512R1: 'brainpoolP512r1',
    BRAINPOOLP512T1: 'brainpoolP512t1',
  } satisfies Partial<Record<CurveName, string>>) as readonly (readonly [CurveName, string])[],
)
const curveNames = new Map([...curves].map(([name, openssl]) => [openssl, name]))

export function curveByName(name: CurveName): Curve | undefined {
  const openssl = curves.get(name)
  return openssl === undefined ? undefined : curveByOpensslName(openssl)
}

type Curved = 'X25519' | 'X448' | 'Ed25519' | 'Ed448'
type Underscored<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}_${Underscored<Rest>}`
  : Name

/** Keys that are strings of bytes and are named by their curve, too. */
const curved: Readonly<Record<Curved, { readonly algorithm: AlgorithmName; readonly curve: CurveName }>> = {
  X25519: { algorithm: 'ECDH', curve: 'CURVE25519' },
  X448: { algorithm: 'ECDH', curve: 'CURVE448' },
  Ed25519: { algorithm: 'Ed25519', curve: 'CURVEED25519' },
  Ed448: { algorithm: 'Ed448', curve: 'CURVEED448' },
}

/** The names of keys that are strings of bytes: `ML-DSA-44` of FIPS 204 is `ML_DSA_44`. Does not compile for names that KMIP does not have. */
function toKmipNames(name: ByteKeyAlgorithm): {
  readonly algorithm: AlgorithmName
  readonly curve?: CurveName
} {
  if (Object.hasOwn(curved, name)) return curved[name as Curved]
  return { algorithm: name.replaceAll('-', '_') as Underscored<Exclude<ByteKeyAlgorithm, Curved>> }
}

const families = byteKeyFamilies.map((family) => ({ ...toKmipNames(family.algorithm), family }))

/** The family of an algorithm, or of the curve if the algorithm does not determine it (EC, ECDH …). */
export function findByteKeyFamily(
  algorithm: AlgorithmName | undefined,
  curve: CurveName | undefined,
): ByteKeyFamily | undefined {
  return families.find((row) =>
    curve === undefined ? row.algorithm === algorithm && algorithm !== 'ECDH' : row.curve === curve,
  )?.family
}

/** RecommendedCurve of a family; undefined for those that are no curve. */
export function curveOfFamily({ algorithm }: ByteKeyFamily): CurveName | undefined {
  return toKmipNames(algorithm).curve
}

/** A key as KMIP calls it. */
export interface KmipKeyKind {
  readonly algorithm: AlgorithmName
  readonly curve?: CurveName | undefined
}

/** The names of KMIP for a key that was read. */
export function kmipKeyKind({ algorithm, curve }: Pick<PkiKey, 'algorithm' | 'curve'>): {
  readonly algorithm: AlgorithmName
  readonly curve?: CurveName
} {
  switch (algorithm) {
    case 'RSA':
    case 'DSA':
    case 'DH':
      return { algorithm }
    case 'EC': {
      const name = curve === undefined ? undefined : curveNames.get(curve.name)
      return { algorithm, ...(name !== undefined && { curve: name }) }
    }
    default:
      return toKmipNames(algorithm)
  }
}

/** The same in the columns of an object: in the names of REST if REST knows the key, else in KMIP's. */
export interface StoredKeyKind {
  readonly algorithm: string
  readonly curve: string | undefined
  /** JOSE algorithm that the key is bound to. */
  readonly boundAlg: string | undefined
}

const curvesOfRest: Readonly<Partial<Record<CurveName, string>>> = {
  P_256: 'P-256',
  P_384: 'P-384',
  P_521: 'P-521',
}
/** Keys that are called by their one algorithm: `ML-DSA-44` is `ML_DSA_44` in KMIP. */
const byAlgorithm: ReadonlyMap<string, string> = new Map(
  Object.entries(keyTypes).flatMap(([name, { kty }]) =>
    kty === 'AKP' ? [[name.replaceAll('-', '_'), name] as const] : [],
  ),
)
/** JOSE's names of HMACs by KMIP's. */
const joseHmacs: ReadonlyMap<string, string> = new Map(
  hmacs.flatMap(({ kmip, jose }) => (jose === undefined ? [] : [[kmip, jose.name] as const])),
)
const kmipHmacs: ReadonlyMap<string, string> = new Map([...joseHmacs].map(([kmip, jose]) => [jose, kmip]))
const ellipticCurve: ReadonlySet<AlgorithmName> = new Set<AlgorithmName>(['EC', 'ECDSA', 'ECDH', 'ECMQV'])

/** The columns of an algorithm with another name there, for any curve; undefined if it has none. */
export function findKeyColumns(algorithm: string): Omit<StoredKeyKind, 'curve'> | undefined {
  const boundAlg = joseHmacs.get(algorithm)
  if (boundAlg !== undefined) return { algorithm: 'HMAC', boundAlg }
  const name = byAlgorithm.get(algorithm)
  return name === undefined ? undefined : { algorithm: name, boundAlg: undefined }
}

/** So that a key made over KMIP is usable over REST, whenever its type allows. */
export function toStoredKeyKind({ algorithm, curve }: KmipKeyKind): StoredKeyKind {
  const column = findKeyColumns(algorithm)
  if (column !== undefined) return { ...column, curve: undefined }
  if (algorithm === 'Ed25519' || (ellipticCurve.has(algorithm) && curve === 'CURVEED25519'))
    return { algorithm: 'Ed25519', curve: undefined, boundAlg: undefined }
  if (ellipticCurve.has(algorithm))
    return { algorithm: 'EC', curve: curve && (curvesOfRest[curve] ?? curve), boundAlg: undefined }
  return { algorithm, curve, boundAlg: undefined }
}

/** The KMIP name of the algorithm in the columns; the stored attribute may be more specific (`ECDSA` for an EC key). */
export function toKmipAlgorithm({
  algorithm,
  boundAlg,
}: {
  readonly algorithm: string | undefined
  readonly boundAlg: string | undefined
}): string | undefined {
  return algorithm === 'HMAC' ? (kmipHmacs.get(boundAlg ?? '') ?? 'HMAC_SHA256') : algorithm
}

interface DescribedKey {
  readonly algorithm: string | undefined
  readonly boundAlg: string | undefined
  readonly curve: string | undefined
  readonly attributes: ObjectAttributes
}

/** The key of an object as KMIP calls it; undefined if its algorithm is not known. */
export function readKeyKind(object: DescribedKey): KmipKeyKind | undefined {
  const { attributes, curve } = object
  const algorithm = toAlgorithmName(attributes.get('CryptographicAlgorithm') ?? toKmipAlgorithm(object))
  const named = curve === undefined ? undefined : valueByName('RecommendedCurve', curve)
  if (algorithm === undefined) return undefined
  return { algorithm, curve: named === undefined ? undefined : valueName('RecommendedCurve', named) }
}

/** The name of KMIP for `ML-DSA-44`, which it calls ML_DSA_44. */
export function toAlgorithmName(text: string | undefined): AlgorithmName | undefined {
  const value = text === undefined ? undefined : valueByName('CryptographicAlgorithm', text)
  return value === undefined ? undefined : valueName('CryptographicAlgorithm', value)
}
