import { Enumeration, Tag, type ValueName, valueByName } from '@warder/kmip/tables'
import { type EnumerationNode, enumeration, type TtlvNode } from '@warder/kmip/ttlv'
import { hmacs, keyTypes } from '../../../crypto/index.ts'
import { impliedAlgorithm, type ManagedObject } from '../../../keys/index.ts'

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
const ellipticCurve: ReadonlySet<AlgorithmName> = new Set<AlgorithmName>(['EC', 'ECDSA', 'ECDH', 'ECMQV'])

/** The columns of an algorithm that has another name there, whatever the curve; undefined where it has none. */
export function columnOf(algorithm: string): Omit<StoredKeyKind, 'curve'> | undefined {
  const boundAlg = joseHmacs.get(algorithm)
  if (boundAlg !== undefined) return { algorithm: 'HMAC', boundAlg }
  const name = byAlgorithm.get(algorithm)
  return name === undefined ? undefined : { algorithm: name, boundAlg: undefined }
}

/** So that a key made over KMIP is usable over REST, whenever its type allows. */
export function storedKeyKind({ algorithm, curve }: KmipKeyKind): StoredKeyKind {
  const column = columnOf(algorithm)
  if (column !== undefined) return { ...column, curve: undefined }
  if (algorithm === 'Ed25519' || (ellipticCurve.has(algorithm) && curve === 'CURVEED25519'))
    return { algorithm: 'Ed25519', curve: undefined, boundAlg: undefined }
  if (ellipticCurve.has(algorithm))
    return { algorithm: 'EC', curve: curve && (curvesOfRest[curve] ?? curve), boundAlg: undefined }
  return { algorithm, curve, boundAlg: undefined }
}

/** The algorithm as the client named it: EC keys may be called ECDSA or ECDH, and are to be called so again. */
export function algorithmNode(algorithm: AlgorithmName): TtlvNode {
  return enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm])
}

/** The algorithm that the columns tell of, as an attribute. */
export function usualAlgorithm(
  object: Pick<ManagedObject, 'algorithm' | 'boundAlg'>,
): EnumerationNode | undefined {
  const name = impliedAlgorithm(object)
  const value = name === undefined ? undefined : valueByName('CryptographicAlgorithm', name)
  return value === undefined ? undefined : enumeration(Tag.CryptographicAlgorithm, value)
}
