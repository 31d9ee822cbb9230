import { atLeast, type KmipVersion, type StructureNode, Tag } from '@warder/kmip-codec'
import { namedObject } from '../engine/operation.ts'
import { kmipFailure } from '../failure/failure.ts'
import { type DecodedPayload, definePayload, field, type Payload } from '../payloads/payload.ts'

const members = definePayload(
  {
    uniqueIdentifier: namedObject,
    parameters: field.structure(Tag.CryptographicParameters),
    data: field.bytes(Tag.Data),
    digestedData: field.bytes(Tag.DigestedData),
    iv: field.bytes(Tag.IVCounterNonce),
    signatureData: field.bytes(Tag.SignatureData),
    macData: field.bytes(Tag.MACData),
    correlation: field.bytes(Tag.CorrelationValue),
    init: field.flag(Tag.InitIndicator),
    final: field.flag(Tag.FinalIndicator),
    aad: field.bytes(Tag.AuthenticatedEncryptionAdditionalData),
    tag: field.bytes(Tag.AuthenticatedEncryptionTag),
  },
  () => kmipFailure('InvalidMessage', 'A member is there twice.'),
)

/** The common members of cryptographic operations (KMIP 2.1 §6.1.17 and others), as received. */
export type CryptographicRequest = DecodedPayload<typeof members>

/** The fields of `cryptographicRequest`. */
export type CryptographicFields = typeof members.fields

/**
 * Parts exist since 1.3: an older client could neither find the CorrelationValue in an answer nor detect that the answer
 * is partial. Decoding throws InvalidField for them, and InvalidMessage for a repeated member.
 */
export const cryptographicRequest: Payload<CryptographicFields> = {
  ...members,
  decode(node: StructureNode, version: KmipVersion = '2.1') {
    const request = members.decode(node, version)
    if (!atLeast(version, '1.3') && (request.init || request.final || request.correlation !== undefined))
      throw kmipFailure('InvalidField', `KMIP ${version} has no operations in parts.`)
    return request
  },
}

/** Is this one of several parts? A request that is marked as both first and last is whole. */
export function isPart({ correlation, init, final }: CryptographicRequest): boolean {
  return correlation !== undefined || (init && !final)
}

/** @throws kmipFailure MissingData */
export function requireData({ data }: CryptographicRequest): Uint8Array {
  if (data === undefined) throw kmipFailure('MissingData', 'Data is missing.')
  return data
}
