import { type AlgorithmName, type KeyFormat, requireSoftwareStorage, usageMask } from '@warder/keys'
import { structure, Tag, type TtlvNode, valueName } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { field, repeated } from '../payloads/payload.ts'

// Reads from a request which key the server creates, and where it is stored.

/** CryptographicAlgorithm among attributes. @throws kmipFailure MissingData, InvalidField */
export function requireAlgorithm(attributes: readonly TtlvNode[]): AlgorithmName {
  const node = attributes.find(({ tag }) => tag === Tag.CryptographicAlgorithm)
  if (node === undefined) throw kmipFailure('MissingData', 'CryptographicAlgorithm is missing.')
  const name = node.type === 'Enumeration' ? valueName('CryptographicAlgorithm', node.value) : undefined
  if (name === undefined) throw kmipFailure('InvalidField', 'CryptographicAlgorithm is not known here.')
  return name
}

/** CryptographicLength among attributes, in bits. @throws kmipFailure InvalidField */
export function readLength(attributes: readonly TtlvNode[]): number | undefined {
  const node = attributes.find(({ tag }) => tag === Tag.CryptographicLength)
  if (node === undefined) return undefined
  if (node.type !== 'Integer' || node.value < 1)
    throw kmipFailure('InvalidField', 'CryptographicLength is a positive number of bits.')
  return node.value
}

/**
 * KeyFormatType among attributes: the format that the client requests for a key that the server creates (KMIP 2.1
 * §4.26).
 */
export function readFormat(attributes: readonly TtlvNode[]): KeyFormat | undefined {
  const node = attributes.find(({ tag }) => tag === Tag.KeyFormatType)
  if (node === undefined) return undefined
  const name = node.type === 'Enumeration' ? valueName('KeyFormatType', node.value) : undefined
  if (name === undefined) throw kmipFailure('InvalidField', 'KeyFormatType is not known here.')
  return name
}

/** Symmetric keys of this length keep a strength of 128 bits against Grover's search (NIST IR 8105 §2). */
const safeBits = 256
const symmetric = /^(AES|HMAC|ChaCha20|Camellia|ARIA|SecretData)/
const postQuantum = /^(ML[-_]KEM|ML[-_]DSA|SLH[-_]DSA)/

/**
 * Refuses a key that is requested as QuantumSafe (KMIP 2.1 §4.45) and is not.
 * @throws kmipFailure GeneralFailure, as the profile's test case QS-M-2 requires
 */
export function requireQuantumSafe(attributes: readonly TtlvNode[], algorithm: string, bits: number): void {
  if (!attributes.some(({ tag, value }) => tag === Tag.QuantumSafe && value === true)) return
  if (postQuantum.test(algorithm)) return
  if (symmetric.test(algorithm) && bits >= safeBits) return
  throw kmipFailure('GeneralFailure', 'NOT_SAFE')
}

/** ProtectionStorageMasks of a request. */
export const storageMasks = repeated(field.node(Tag.ProtectionStorageMasks, 'Structure'))

/** As `requireSoftwareStorage`, under the three tags that a pair has for them (KMIP 2.1 §6.1.9, §6.1.47). */
export function requireSoftwarePair(nodes: readonly TtlvNode[]): void {
  for (const node of nodes)
    if (node.type === 'Structure') requireSoftwareStorage([structure(Tag.ProtectionStorageMasks, node.value)])
}

/** Their three tags in a request for a pair. */
export const pairStorageMasks = repeated(
  field.node(
    [Tag.CommonProtectionStorageMasks, Tag.PrivateProtectionStorageMasks, Tag.PublicProtectionStorageMasks],
    'Structure',
  ),
)

/** Default usage mask of a key: every use that its type supports. */
export function defaultUsageMask({
  objectType,
  algorithm,
}: {
  readonly objectType: string
  readonly algorithm?: string | undefined
}): number {
  switch (objectType) {
    case 'SymmetricKey':
      return algorithm?.startsWith('HMAC') === true
        ? usageMask('macGenerate', 'macVerify')
        : usageMask('encrypt', 'decrypt', 'wrapKey', 'unwrapKey')
    case 'PrivateKey':
      return usageMask('sign', 'decrypt', 'unwrapKey')
    case 'PublicKey':
    case 'Certificate':
      return usageMask('verify', 'encrypt', 'wrapKey')
    default:
      return 0
  }
}
