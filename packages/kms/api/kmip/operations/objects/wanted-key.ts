import { Tag, valueName } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import { kmipFailure } from '../../engine/index.ts'
import type { KeyFormat } from '../../key-blocks/key-format.ts'
import type { AlgorithmName } from '../../stored/stored-algorithm.ts'

/** CryptographicAlgorithm among attributes. @throws kmipFailure MissingData, InvalidField */
export function requiredAlgorithm(attributes: readonly TtlvNode[]): AlgorithmName {
  const node = attributes.find(({ tag }) => tag === Tag.CryptographicAlgorithm)
  if (node === undefined) throw kmipFailure('MissingData', 'CryptographicAlgorithm is missing.')
  const name = node.type === 'Enumeration' ? valueName('CryptographicAlgorithm', node.value) : undefined
  if (name === undefined) throw kmipFailure('InvalidField', 'CryptographicAlgorithm is not known here.')
  return name
}

/** CryptographicLength among attributes, in bits. @throws kmipFailure InvalidField */
export function lengthOf(attributes: readonly TtlvNode[]): number | undefined {
  const node = attributes.find(({ tag }) => tag === Tag.CryptographicLength)
  if (node === undefined) return undefined
  if (node.type !== 'Integer' || node.value < 1)
    throw kmipFailure('InvalidField', 'CryptographicLength is a positive number of bits.')
  return node.value
}

/** KeyFormatType among attributes: how a client wants a key that the server makes (KMIP 2.1 §4.26). */
export function formatOf(attributes: readonly TtlvNode[]): KeyFormat | undefined {
  const node = attributes.find(({ tag }) => tag === Tag.KeyFormatType)
  if (node === undefined) return undefined
  const name = node.type === 'Enumeration' ? valueName('KeyFormatType', node.value) : undefined
  if (name === undefined) throw kmipFailure('InvalidField', 'KeyFormatType is not known here.')
  return name
}
