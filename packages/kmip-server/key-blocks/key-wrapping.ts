import { type StructureNode, structure, Tag, type TtlvNode, type ValueName } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { type Decoded, definePayload, field, repeated } from '../payloads/payload.ts'

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

const keyInformation = {
  identifier: field.identifier(Tag.UniqueIdentifier),
  parameters: field.structure(Tag.CryptographicParameters),
}

const commonFields = {
  method: field.named('WrappingMethod'),
  encryption: field.group(Tag.EncryptionKeyInformation, keyInformation),
  mac: field.group(Tag.MACSignatureKeyInformation, keyInformation),
}

/** The members of a KeyWrappingSpecification. */
export const specificationFields = {
  ...commonFields,
  attributes: repeated(field.node([Tag.AttributeName, Tag.AttributeReference], 'Attribute Reference')),
  encoding: field.named('EncodingOption'),
}

const wrappingData = definePayload({
  ...commonFields,
  macSignature: field.bytes(Tag.MACSignature),
  iv: field.bytes(Tag.IVCounterNonce),
  encoding: field.named('EncodingOption'),
})

/** Maximum number of attributes that one request may wrap. */
const maxAttributes = 64

/** @throws InvalidField, EncodingOptionError */
export function readWrappingSpecification(given: Decoded<typeof specificationFields>): WrappingSpecification {
  const common = checkCommon(given)
  if (encrypts(common) && common.encryption === undefined)
    throw kmipFailure('InvalidField', `EncryptionKeyInformation does not fit the method ${common.method}.`)
  if (authenticates(common) && common.mac === undefined)
    throw kmipFailure('InvalidField', `MACSignatureKeyInformation does not fit the method ${common.method}.`)
  const { attributes } = given
  if (attributes.length > maxAttributes)
    throw kmipFailure('InvalidField', 'Too many attributes are to be wrapped.')
  if (attributes.length > 0 && common.encoding === 'NoEncoding')
    throw kmipFailure('EncodingOptionError', 'Attributes can only be wrapped in TTLV encoding.')
  return { ...common, attributes }
}

/**
 * Both key informations are optional (KMIP 2.1 §3.1.5): a client need not disclose which key wrapped the
 * block. A later request to unwrap it fails and names the missing key (`requireOpenable`).
 * @throws KmipDecodeError, InvalidField
 */
export function readWrappingData(node: StructureNode): WrappingData {
  const { macSignature, iv, ...given } = wrappingData.decode(node)
  return { ...checkCommon(given), macSignature, iv }
}

function checkCommon(given: Decoded<typeof commonFields & Pick<typeof specificationFields, 'encoding'>>) {
  const { method, encoding } = given
  if (method === undefined) throw kmipFailure('InvalidField', 'WrappingMethod is missing.')
  const encryption = checkInformation(given.encryption)
  const mac = checkInformation(given.mac)
  if (method === 'TR_31') throw kmipFailure('FeatureNotSupported', 'TR-31 key blocks are not supported.')
  if (method === 'MACSign' && encryption !== undefined)
    throw kmipFailure('InvalidField', `EncryptionKeyInformation does not fit the method ${method}.`)
  if (method === 'Encrypt' && mac !== undefined)
    throw kmipFailure('InvalidField', `MACSignatureKeyInformation does not fit the method ${method}.`)
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

function checkInformation(
  given: Decoded<typeof keyInformation> | undefined,
): WrappingKeyInformation | undefined {
  if (given === undefined) return undefined
  const { identifier, parameters } = given
  if (identifier === undefined) throw kmipFailure('InvalidField', 'The wrapping key is not named.')
  return { identifier, parameters }
}

/** KeyWrappingData of a block that was wrapped here. @param identifiers of the keys, now as text */
export function writeWrappingData(
  data: WrappingData,
  identifiers: { readonly encryption: string | undefined; readonly mac: string | undefined },
): StructureNode {
  const information = (identifier: string | undefined, key: WrappingKeyInformation | undefined) =>
    identifier === undefined ? undefined : { identifier, parameters: key?.parameters }
  const members = wrappingData.encode({
    method: data.method,
    encryption: information(identifiers.encryption, data.encryption),
    mac: information(identifiers.mac, data.mac),
    macSignature: data.macSignature,
    iv: data.iv,
    encoding: data.encodingGiven ? data.encoding : undefined,
  })
  return structure(Tag.KeyWrappingData, members)
}
