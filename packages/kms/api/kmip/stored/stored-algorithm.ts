import { Enumeration, Tag, type ValueName, valueByName } from '@warder/kmip/tables'
import { enumeration, type TtlvNode } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../../keys/index.ts'

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>
export type CurveName = ValueName<'RecommendedCurve'>

/** A key as KMIP describes it. */
export interface KmipKeyKind {
  readonly algorithm: AlgorithmName
  readonly curve?: CurveName | undefined
}

/** The same in the columns of an object: in the names of REST where REST knows the key, else in KMIP's. */
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
const latticesOfRest: Readonly<Partial<Record<AlgorithmName, string>>> = {
  ML_DSA_44: 'ML-DSA-44',
  ML_DSA_65: 'ML-DSA-65',
  ML_DSA_87: 'ML-DSA-87',
  ML_KEM_512: 'ML-KEM-512',
  ML_KEM_768: 'ML-KEM-768',
  ML_KEM_1024: 'ML-KEM-1024',
}
const hmacsOfRest: Readonly<Partial<Record<AlgorithmName, string>>> = {
  HMAC_SHA256: 'HS256',
  HMAC_SHA384: 'HS384',
  HMAC_SHA512: 'HS512',
}
const hmacsOfKmip: ReadonlyMap<string, AlgorithmName> = new Map(
  Object.entries(hmacsOfRest).map(([name, ofRest]) => [ofRest, name as AlgorithmName]),
)
const ellipticCurve: ReadonlySet<AlgorithmName> = new Set<AlgorithmName>(['EC', 'ECDSA', 'ECDH', 'ECMQV'])

/** So that a key made over KMIP is usable over REST, whenever its type allows. */
export function storedKeyKind({ algorithm, curve }: KmipKeyKind): StoredKeyKind {
  const boundAlg = hmacsOfRest[algorithm]
  if (boundAlg !== undefined) return { algorithm: 'HMAC', curve: undefined, boundAlg }
  if (algorithm === 'Ed25519' || (ellipticCurve.has(algorithm) && curve === 'CURVEED25519'))
    return { algorithm: 'Ed25519', curve: undefined, boundAlg: undefined }
  const lattice = latticesOfRest[algorithm]
  if (lattice !== undefined) return { algorithm: lattice, curve: undefined, boundAlg: undefined }
  if (ellipticCurve.has(algorithm))
    return { algorithm: 'EC', curve: curve && (curvesOfRest[curve] ?? curve), boundAlg: undefined }
  return { algorithm, curve, boundAlg: undefined }
}

/** The algorithm as the client named it: EC keys may be called ECDSA or ECDH, and are to be called so again. */
export function algorithmNode(algorithm: AlgorithmName): TtlvNode {
  return enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm])
}

/** The algorithm that the columns tell of; what is stored may be more exact (`ECDSA` of an EC key). */
export function usualAlgorithm({
  algorithm: name,
  boundAlg,
}: Pick<ManagedObject, 'algorithm' | 'boundAlg'>): TtlvNode | undefined {
  if (name === undefined) return undefined
  const value =
    name === 'HMAC'
      ? Enumeration.CryptographicAlgorithm[hmacsOfKmip.get(boundAlg ?? '') ?? 'HMAC_SHA256']
      : valueByName('CryptographicAlgorithm', name)
  return value === undefined ? undefined : enumeration(Tag.CryptographicAlgorithm, value)
}
