import { type BackendKey, type CryptographicParameters, type ParameterName, spelling } from '@warder/crypto'
import {
  type EnumerationName,
  type StructureNode,
  Tag,
  type TtlvNode,
  type ValueName,
  valueName,
} from '@warder/kmip-codec'
import { kmipFailure as refuse } from '../failure/failure.ts'

interface Member {
  readonly name: ParameterName
  readonly kind: 'Integer' | 'Boolean' | 'ByteString' | EnumerationName
}

const members: ReadonlyMap<number, Member> = new Map<number, Member>([
  [Tag.BlockCipherMode, { name: 'blockCipherMode', kind: 'BlockCipherMode' }],
  [Tag.PaddingMethod, { name: 'paddingMethod', kind: 'PaddingMethod' }],
  [Tag.HashingAlgorithm, { name: 'hashingAlgorithm', kind: 'HashingAlgorithm' }],
  [Tag.KeyRoleType, { name: 'keyRoleType', kind: 'KeyRoleType' }],
  [Tag.DigitalSignatureAlgorithm, { name: 'digitalSignatureAlgorithm', kind: 'DigitalSignatureAlgorithm' }],
  [Tag.CryptographicAlgorithm, { name: 'cryptographicAlgorithm', kind: 'CryptographicAlgorithm' }],
  [Tag.RandomIV, { name: 'randomIV', kind: 'Boolean' }],
  [Tag.IVLength, { name: 'ivLength', kind: 'Integer' }],
  [Tag.TagLength, { name: 'tagLength', kind: 'Integer' }],
  [Tag.FixedFieldLength, { name: 'fixedFieldLength', kind: 'Integer' }],
  [Tag.InvocationFieldLength, { name: 'invocationFieldLength', kind: 'Integer' }],
  [Tag.CounterLength, { name: 'counterLength', kind: 'Integer' }],
  [Tag.InitialCounterValue, { name: 'initialCounterValue', kind: 'Integer' }],
  [Tag.SaltLength, { name: 'saltLength', kind: 'Integer' }],
  [Tag.MaskGenerator, { name: 'maskGenerator', kind: 'MaskGenerator' }],
  [Tag.MaskGeneratorHashingAlgorithm, { name: 'maskGeneratorHashingAlgorithm', kind: 'HashingAlgorithm' }],
  [Tag.PSource, { name: 'pSource', kind: 'ByteString' }],
  [Tag.TrailerField, { name: 'trailerField', kind: 'Integer' }],
])

/**
 * Reads a CryptographicParameters structure (KMIP 2.1 §4.16), whatever its tag.
 * @throws InvalidField for a member that is unknown, repeated, of another type or negative, UnknownEnumeration for a
 *   value without a name
 */
export function readParameters(node: StructureNode): CryptographicParameters {
  const read: Partial<Record<ParameterName, unknown>> = {}
  for (const member of node.value) {
    const known = members.get(member.tag)
    if (known === undefined || read[known.name] !== undefined)
      throw refuse('InvalidField', 'CryptographicParameters has a member that is unknown or there twice.')
    const value = memberValue(member, known)
    read[known.name] = known.name === 'ivLength' ? ivBits(Number(value)) : value
  }
  return read as CryptographicParameters
}

/** The minimum IV length of any cipher (CCM), and a length above the block size of every cipher, in bytes. */
const ivBytes = { min: 7, max: 32 }

/**
 * IVLength counts bits (KMIP 2.1 §4.16), and kmip-go is one of the clients that send bytes: 12 for GCM, 16
 * for CBC. Such a small number is read as bytes, because no IV has so few bits.
 */
function ivBits(length: number): number {
  return length >= ivBytes.min && length <= ivBytes.max ? length * 8 : length
}

function memberValue(node: TtlvNode, { name, kind }: Member): unknown {
  switch (kind) {
    case 'Boolean':
    case 'ByteString':
      if (node.type === kind) return node.value
      break
    case 'Integer':
      if (node.type === 'Integer' && node.value >= 0) return node.value
      break
    default: {
      if (node.type !== 'Enumeration') break
      const value = valueName(kind, node.value)
      if (value === undefined) throw refuse('UnknownEnumeration', `${spelling(name)} has an unknown value.`)
      return value
    }
  }
  throw refuse('InvalidField', `${spelling(name)} has another type or range.`)
}

export type AlgorithmName = ValueName<'CryptographicAlgorithm'>

/** A decrypted key with its KMIP algorithm name. */
export interface KeyInUse {
  readonly algorithm: AlgorithmName
  readonly key: BackendKey
}
