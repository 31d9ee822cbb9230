import { Enumeration, Tag, valueByName } from '@warder/kmip/tables'
import { type EnumerationNode, enumeration, type TtlvNode } from '@warder/kmip/ttlv'
import { type AlgorithmName, impliedAlgorithm, type ManagedObject } from '../../../keys/index.ts'

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
