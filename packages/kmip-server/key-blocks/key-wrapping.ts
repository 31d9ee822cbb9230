import {
  byteString,
  Enumeration,
  enumeration,
  findMember,
  optional,
  optionalName,
  optionalStructure,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
  type ValueName,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'

export type WrappingMethod = ValueName<'WrappingMethod'>
export type EncodingOption = ValueName<'EncodingOption'>

/** Which key wraps, authenticates or signs, and how (KMIP 2.1 §3.1.6, §3.1.7). */
export interface WrappingKeyInformation {
  /** As received: text, or a reference to the ID placeholder. */
  readonly identifier: TtlvNode
  /** As received, and returned unchanged. */
  readonly parameters: StructureNode | undefined
}

/** Contents of a KeyWrappingSpecification (KMIP 2.1 §7.18). */
export interface WrappingSpecification {
  readonly method: WrappingMethod
  readonly encryption: WrappingKeyInformation | undefined
  readonly mac: WrappingKeyInformation | undefined
  /** Tags or names of attributes to be wrapped with the key. */
  readonly attributes: readonly TtlvNode[]
  readonly encoding: EncodingOption
  /** true: the client named the encoding, so the answer names it too. */
  readonly encodingGiven: boolean
}

/** How a key block is wrapped: KeyWrappingData (KMIP 2.1 §3.1.5). */
export interface WrappingData extends Omit<WrappingSpecification, 'attributes'> {
  readonly macSignature: Uint8Array | undefined
  readonly iv: Uint8Array | undefined
}

/** Maximum number of attributes that one request may wrap. */
const maxAttributes = 64

/** @throws KmipDecodeError, InvalidField, EncodingOptionError */
export function readWrappingSpecification(node: StructureNode): WrappingSpecification {
  const common = readCommon(node)
  if (encrypts(common) && common.encryption === undefined)
    throw kmipFailure('InvalidField', `EncryptionKeyInformation does not fit the method ${common.method}.`)
  if (authenticates(common) && common.mac === undefined)
    throw kmipFailure('InvalidField', `MACSignatureKeyInformation does not fit the method ${common.method}.`)
  const attributes = node.value.filter(
    ({ tag }) => tag === Tag.AttributeName || tag === Tag.AttributeReference,
  )
  if (attributes.length > maxAttributes)
    throw kmipFailure('InvalidField', 'Too many attributes are to be wrapped.')
  if (attributes.length > 0 && common.encoding === 'NoEncoding')
    throw kmipFailure('EncodingOptionError', 'Attributes can only be wrapped in TTLV encoding.')
  return { ...common, attributes }
}

/**
 * Both key informations are optional (KMIP 2.1 §3.1.5): a client need not disclose which key wrapped the block. A later
 * request to unwrap it fails with the name of what is missing (`requireOpenable`).
 * @throws KmipDecodeError, InvalidField
 */
export function readWrappingData(node: StructureNode): WrappingData {
  return {
    ...readCommon(node),
    macSignature: optional(node, Tag.MACSignature, 'ByteString'),
    iv: optional(node, Tag.IVCounterNonce, 'ByteString'),
  }
}

function readCommon(node: StructureNode) {
  const method = optionalName(node, Tag.WrappingMethod, 'WrappingMethod')
  if (method === undefined) throw kmipFailure('InvalidField', 'WrappingMethod is missing.')
  const encryption = keyInformation(node, Tag.EncryptionKeyInformation)
  const mac = keyInformation(node, Tag.MACSignatureKeyInformation)
  if (method === 'TR_31') throw kmipFailure('FeatureNotSupported', 'TR-31 key blocks are not supported.')
  if (method === 'MACSign' && encryption !== undefined)
    throw kmipFailure('InvalidField', `EncryptionKeyInformation does not fit the method ${method}.`)
  if (method === 'Encrypt' && mac !== undefined)
    throw kmipFailure('InvalidField', `MACSignatureKeyInformation does not fit the method ${method}.`)
  const encoding = optionalName(node, Tag.EncodingOption, 'EncodingOption')
  return {
    method,
    encryption,
    mac,
    encoding: encoding ?? ('TTLVEncoding' as const),
    encodingGiven: encoding !== undefined,
  }
}

/** @throws KeyValueNotPresent when the block does not name the key that unwraps it */
export function requireOpenable(data: Pick<WrappingData, 'method' | 'encryption' | 'mac'>): void {
  const missing =
    encrypts(data) && data.encryption === undefined
      ? 'EncryptionKeyInformation'
      : authenticates(data) && data.mac === undefined
        ? 'MACSignatureKeyInformation'
        : undefined
  if (missing !== undefined)
    throw kmipFailure(
      'KeyValueNotPresent',
      `The key cannot be unwrapped: its KeyWrappingData has no ${missing}.`,
    )
}

function encrypts({ method }: { readonly method: WrappingMethod }): boolean {
  return method !== 'MACSign'
}

function authenticates({ method }: { readonly method: WrappingMethod }): boolean {
  return method !== 'Encrypt'
}

function keyInformation(parent: StructureNode, tag: number): WrappingKeyInformation | undefined {
  const node = optionalStructure(parent, tag)
  if (node === undefined) return undefined
  const identifier = findMember(node, Tag.UniqueIdentifier)
  if (identifier === undefined) throw kmipFailure('InvalidField', 'The wrapping key is not named.')
  return { identifier, parameters: optionalStructure(node, Tag.CryptographicParameters) }
}

/** KeyWrappingData of a block that was wrapped here. @param identifiers of the keys, now as text */
export function writeWrappingData(
  data: WrappingData,
  identifiers: { readonly encryption: string | undefined; readonly mac: string | undefined },
): StructureNode {
  const information = (tag: number, id: string | undefined, key: WrappingKeyInformation | undefined) =>
    id === undefined ? undefined : structure(tag, [textString(Tag.UniqueIdentifier, id), key?.parameters])
  return structure(Tag.KeyWrappingData, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod[data.method]),
    information(Tag.EncryptionKeyInformation, identifiers.encryption, data.encryption),
    information(Tag.MACSignatureKeyInformation, identifiers.mac, data.mac),
    data.macSignature === undefined ? undefined : byteString(Tag.MACSignature, data.macSignature),
    data.iv === undefined ? undefined : byteString(Tag.IVCounterNonce, data.iv),
    data.encodingGiven
      ? enumeration(Tag.EncodingOption, Enumeration.EncodingOption[data.encoding])
      : undefined,
  ])
}
