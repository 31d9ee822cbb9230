import { atLeast, Tag } from '@warder/kmip/tables'
import { requireType, type StructureNode } from '@warder/kmip/ttlv'
import { type KmipContext, kmipFailure } from '../engine/index.ts'

/** Members that are bytes. */
const byteTags = [
  [Tag.Data, 'data'],
  [Tag.DigestedData, 'digestedData'],
  [Tag.IVCounterNonce, 'iv'],
  [Tag.AuthenticatedEncryptionAdditionalData, 'aad'],
  [Tag.AuthenticatedEncryptionTag, 'tag'],
  [Tag.MACData, 'macData'],
  [Tag.SignatureData, 'signatureData'],
  [Tag.CorrelationValue, 'correlation'],
] as const
type ByteMember = (typeof byteTags)[number][1]
const byteMembers: ReadonlyMap<number, ByteMember> = new Map(byteTags)

/** The common members of cryptographic operations (KMIP 2.1 §6.1.17 and others), as received. */
export interface CryptographicRequest extends Readonly<Record<ByteMember, Uint8Array | undefined>> {
  /** The CryptographicParameters structure. */
  readonly parameters: StructureNode | undefined
  readonly init: boolean
  readonly final: boolean
}

type Writable = { -readonly [Name in keyof CryptographicRequest]: CryptographicRequest[Name] }

/** Reads them in one pass. @throws KmipDecodeError, InvalidMessage for a repeated member */
export function readCryptographicRequest(payload: StructureNode): CryptographicRequest {
  const read: Writable = {
    parameters: undefined,
    data: undefined,
    digestedData: undefined,
    iv: undefined,
    aad: undefined,
    tag: undefined,
    macData: undefined,
    signatureData: undefined,
    correlation: undefined,
    init: false,
    final: false,
  }
  for (const node of payload.value) {
    const name = byteMembers.get(node.tag)
    if (name !== undefined) {
      if (read[name] !== undefined) throw twice()
      read[name] = requireType(node, 'ByteString').value
    } else if (node.tag === Tag.CryptographicParameters) {
      if (read.parameters !== undefined) throw twice()
      read.parameters = requireType(node, 'Structure')
    } else if (node.tag === Tag.InitIndicator) read.init = requireType(node, 'Boolean').value
    else if (node.tag === Tag.FinalIndicator) read.final = requireType(node, 'Boolean').value
  }
  return read
}

/**
 * As `readCryptographicRequest`, from a client of this version. Parts exist since 1.3: an older client could neither
 * find the CorrelationValue in an answer nor detect that the answer is partial.
 * @throws InvalidField for members that the version does not have
 */
export function readReceivedRequest(
  payload: StructureNode,
  { version }: Pick<KmipContext, 'version'>,
): CryptographicRequest {
  const request = readCryptographicRequest(payload)
  const inParts = request.init || request.final || request.correlation !== undefined
  if (inParts && !atLeast(version, '1.3'))
    throw kmipFailure('InvalidField', `KMIP ${version} has no operations in parts.`)
  return request
}

function twice() {
  return kmipFailure('InvalidMessage', 'A member is there twice.')
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
