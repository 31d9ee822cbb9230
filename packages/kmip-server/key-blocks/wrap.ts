import {
  type AlgorithmPolicy,
  type CipherPlan,
  type CryptographicParameters,
  encryptRsa,
  joseCipher,
  joseEncryption,
  modulusBits,
  noParameters,
  planCipher,
  planRsa,
} from '@warder/crypto'
import {
  byteString,
  decodeTtlv,
  encodeTtlv,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { type KeyInUse, readParameters } from '../crypto/parameters.ts'
import { kmipFailure } from '../failure/failure.ts'
import { type PlainKeyValue, plainKeyValue, readKeyBlock } from './key-block.ts'
import type { WrappingData, WrappingSpecification } from './key-wrapping.ts'

/** A wrapping key, decrypted. */
export interface WrappingKey {
  readonly key: KeyInUse
  /** Parameters of the request or the block, else those of the key itself (KMIP 2.1 §7.18). */
  readonly parameters: StructureNode | undefined
}

/** A key that authenticates the wrapped key: HMAC, CMAC or a signature. */
export interface Authenticator {
  /** @throws when the key cannot */
  sign(data: Uint8Array): Promise<Uint8Array>
  verify(data: Uint8Array, mac: Uint8Array): Promise<boolean>
}

export interface WrappingKeys {
  readonly encryption: WrappingKey | undefined
  readonly mac: Authenticator | undefined
}

/** Replaces a KeyValue in clear. */
export interface WrappedKeyValue {
  readonly value: TtlvNode
  readonly data: WrappingData
}

/**
 * Wraps a key (KMIP 2.1 §3.1.5). Encrypts the TTLV of the KeyValue with its attributes, or with NoEncoding only the
 * bytes of the KeyMaterial.
 * @param material KeyMaterial
 * @param attributes members of the KeyValue that are wrapped with the key
 * @throws EncodingOptionError for NoEncoding of a key that is not a byte string; errors of the ciphers
 */
export async function wrapKeyValue(
  material: TtlvNode,
  attributes: readonly TtlvNode[],
  specification: WrappingSpecification,
  keys: WrappingKeys,
  policy: AlgorithmPolicy,
): Promise<WrappedKeyValue> {
  const { attributes: _named, ...common } = specification
  const plain = structure(Tag.KeyValue, [material, ...attributes])
  const bytes = encodePlain(plain, material, specification.encoding)
  const data = { ...common, macSignature: undefined, iv: undefined }
  try {
    if (specification.method === 'MACSign')
      return { value: plain, data: { ...data, macSignature: await authenticator(keys).sign(bytes) } }
    const { wrapped, iv } = await encrypt(encryptionKey(keys), bytes, policy)
    const macSignature =
      specification.method === 'Encrypt'
        ? undefined
        : await authenticator(keys).sign(specification.method === 'EncryptThenMACSign' ? wrapped : bytes)
    return { value: byteString(Tag.KeyValue, wrapped), data: { ...data, macSignature, iv } }
  } finally {
    bytes.fill(0)
  }
}

/**
 * Unwraps a key. All failures are reported alike.
 * @throws CryptographicFailure `CRYPTO`; errors of the ciphers for unsupported parameters
 */
export async function unwrapKeyValue(
  value: PlainKeyValue | Uint8Array,
  data: WrappingData,
  keys: WrappingKeys,
  policy: AlgorithmPolicy,
): Promise<PlainKeyValue> {
  if (!(value instanceof Uint8Array)) {
    await requireAuthentic(keys, encodePlain(value.node, value.material, data.encoding), data)
    return value
  }
  if (data.method === 'EncryptThenMACSign') await requireAuthentic(keys, value, data)
  const bytes = await decrypt(encryptionKey(keys), value, data.iv, policy)
  if (data.method === 'MACSignThenEncrypt') await requireAuthentic(keys, bytes, data)
  return decodePlain(bytes, data)
}

/** The object with its unwrapped key, as if it had been received so. */
export function rebuildObject(object: StructureNode, plain: PlainKeyValue): StructureNode {
  const value = object.value.map((member) => {
    if (member.tag !== Tag.KeyBlock || member.type !== 'Structure') return member
    const members = member.value.flatMap((inner) => {
      if (inner.tag === Tag.KeyWrappingData) return []
      return [inner.tag === Tag.KeyValue ? plain.node : inner]
    })
    return { ...member, value: members }
  })
  return { ...object, value }
}

/** As `unwrapKeyValue` of the key block within an object. */
export async function unwrapObject(
  object: StructureNode,
  keys: WrappingKeys,
  policy: AlgorithmPolicy,
): Promise<StructureNode> {
  const { value, wrapping } = readKeyBlock(object)
  if (wrapping === undefined || value === undefined) return object
  return rebuildObject(object, await unwrapKeyValue(value, wrapping, keys, policy))
}

function encodePlain(
  plain: StructureNode,
  material: TtlvNode,
  encoding: WrappingData['encoding'],
): Uint8Array {
  if (encoding === 'TTLVEncoding') return encodeTtlv(plain)
  if (material.type !== 'ByteString')
    throw kmipFailure('EncodingOptionError', 'A transparent key can only be wrapped in TTLV encoding.')
  return Uint8Array.from(material.value)
}

function decodePlain(bytes: Uint8Array, { encoding }: WrappingData): PlainKeyValue {
  if (encoding === 'NoEncoding') {
    const material = byteString(Tag.KeyMaterial, bytes)
    return { material, attributes: [], node: structure(Tag.KeyValue, [material]) }
  }
  try {
    const node = decodeTtlv(bytes)
    if (node.tag === Tag.KeyValue && node.type === 'Structure') return plainKeyValue(node)
  } catch {
    // Reported like every other failed unwrapping: a separate reason would reveal facts about the bytes.
  }
  throw unwrapError()
}

async function requireAuthentic(
  keys: WrappingKeys,
  bytes: Uint8Array,
  { macSignature }: WrappingData,
): Promise<void> {
  if (macSignature === undefined || !(await authenticator(keys).verify(bytes, macSignature)))
    throw unwrapError()
}

function encryptionKey({ encryption }: WrappingKeys): WrappingKey {
  if (encryption === undefined) throw kmipFailure('InvalidField', 'EncryptionKeyInformation is missing.')
  return encryption
}

function authenticator({ mac }: WrappingKeys): Authenticator {
  if (mac === undefined) throw kmipFailure('InvalidField', 'MACSignatureKeyInformation is missing.')
  return mac
}

async function encrypt(
  wrapping: WrappingKey,
  bytes: Uint8Array,
  policy: AlgorithmPolicy,
): Promise<{ readonly wrapped: Uint8Array; readonly iv: Uint8Array | undefined }> {
  const { key, algorithm } = wrapping.key
  const parameters = readWrappingParameters(wrapping)
  const { publicKey } = key
  if (algorithm === 'RSA' && publicKey !== undefined)
    return {
      wrapped: encryptRsa(publicKey, planRsa(modulusBits(publicKey), parameters, policy), bytes),
      iv: undefined,
    }
  const plan = symmetricPlan(wrapping, parameters, policy)
  const { data, iv, tag } = await key.encrypt(plan, { data: bytes, iv: undefined, aad: undefined })
  return { wrapped: tag === undefined ? data : Buffer.concat([data, tag]), iv }
}

async function decrypt(
  wrapping: WrappingKey,
  wrapped: Uint8Array,
  iv: Uint8Array | undefined,
  policy: AlgorithmPolicy,
): Promise<Uint8Array> {
  const { key, algorithm } = wrapping.key
  const parameters = readWrappingParameters(wrapping)
  if (algorithm === 'RSA') {
    if (key.shape.type !== 'private')
      throw kmipFailure('CryptographicFailure', 'Unwrapping takes the private key.')
    return key.decryptRsa(planRsa(modulusBits(key.shape), parameters, policy), wrapped)
  }
  const plan = symmetricPlan(wrapping, parameters, policy)
  // Without IVCounterNonce the IV precedes the ciphertext, as some servers write it.
  const inFront = iv === undefined && plan.iv[1] > 0 ? plan.freshIv : 0
  if (wrapped.length < inFront + plan.tag) throw unwrapError()
  const end = wrapped.length - plan.tag
  try {
    return await key.decrypt(plan, {
      data: wrapped.subarray(inFront, end),
      iv: inFront > 0 ? wrapped.subarray(0, inFront) : iv,
      aad: undefined,
      tag: plan.tag > 0 ? wrapped.subarray(end) : undefined,
    })
  } catch {
    throw unwrapError()
  }
}

function readWrappingParameters({ parameters }: WrappingKey): CryptographicParameters {
  return parameters === undefined ? noParameters : readParameters(parameters)
}

/** The cipher with which a secret key wraps or unwraps; undefined for a key pair. */
export function wrappingPlan(wrapping: WrappingKey, policy: AlgorithmPolicy): CipherPlan | undefined {
  if (wrapping.key.key.shape.type !== 'secret') return undefined
  return symmetricPlan(wrapping, readWrappingParameters(wrapping), policy)
}

/** JOSE names of the algorithm with which a key wraps or unwraps; empty where JOSE has none. */
export function joseWrapping(wrapping: WrappingKey, policy: AlgorithmPolicy): readonly string[] {
  const { key, algorithm } = wrapping.key
  const parameters = readWrappingParameters(wrapping)
  if (key.shape.type === 'secret') {
    const plan = symmetricPlan(wrapping, parameters, policy)
    return joseCipher(algorithm, key.shape.symmetricKeySize ?? 0, plan)
  }
  return algorithm === 'RSA' ? joseEncryption(planRsa(modulusBits(key.shape), parameters, policy)) : []
}

/** The default for AES is RFC 3394 (KMIP 2.1 §7.18). */
function symmetricPlan(
  { key: { key, algorithm } }: WrappingKey,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): CipherPlan {
  if (key.shape.type !== 'secret')
    throw kmipFailure('CryptographicFailure', `Keys of ${algorithm} cannot wrap other keys.`)
  const mode = parameters.blockCipherMode ?? (algorithm === 'AES' ? 'NISTKeyWrap' : undefined)
  const chosen = mode === undefined ? parameters : { ...parameters, blockCipherMode: mode }
  return planCipher(algorithm, key.shape.symmetricKeySize ?? 0, chosen, policy)
}

function unwrapError() {
  return kmipFailure('CryptographicFailure', 'CRYPTO')
}
