import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { OperationName } from '@warder/kmip/tables'
import { Tag } from '@warder/kmip/tables'
import { byteString, decodeTtlv, encodeTtlv, type StructureNode, structure } from '@warder/kmip/ttlv'
import { readParameters } from '../crypto/parameters.ts'
import { maximumStreamBytes } from '../crypto/stream-limits.ts'
import { type KmipContext, kmipFailure } from '../engine/index.ts'
import { type CryptographicRequest, readCryptographicRequest } from '../operations/cryptographic-request.ts'
import {
  closeChanges,
  findStream,
  growChanges,
  openChanges,
  openStreams,
  partsOf,
  type StreamRow,
} from './stream-store.ts'

/** How long a stream waits for its next part. */
export const streamLifetime = 5 * 60 * 1000
/** Streams that one user may have open. */
export const maximumStreams = 16
/** Parts of one stream. */
export const maximumParts = 4096
const correlationBytes = 16

/** What came before this part. */
export interface Stream {
  /** undefined: this is the first part. */
  readonly row: StreamRow | undefined
  /** Requests of the parts before, in their order. */
  readonly before: readonly CryptographicRequest[]
}

/**
 * The stream that a part belongs to: of the same user, operation and key, all of which the correlation value is bound to.
 * What it holds lies sealed in the database, so that every worker and every node can take the next part.
 * @throws InvalidCorrelationValue for one that is unknown, somebody else's, of another operation or key, or over its time;
 *   InvalidField for what only the first part may say
 */
export async function streamOf(
  operation: OperationName,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<Stream> {
  const { correlation, init } = request
  if (correlation === undefined) return { row: undefined, before: [] }
  if (init) throw kmipFailure('InvalidField', 'The first part has no CorrelationValue.')
  const { db, seal } = context.services
  const row =
    correlation.length === correlationBytes
      ? await findStream(db, Buffer.from(correlation).toString('hex'), context.principal.name, context.now)
      : undefined
  if (row === undefined || row.operation !== operation || row.object_id !== objectOf(operation, context))
    throw kmipFailure('InvalidCorrelationValue', 'The CorrelationValue is not known.')
  if (request.iv !== undefined || request.aad !== undefined)
    throw kmipFailure('InvalidField', 'IV and additional data come with the first part.')
  const before = (await partsOf(db, seal, row)).map((part) => readCryptographicRequest(rootOf(part)))
  requireSame(before[0]?.parameters, request.parameters)
  return { row, before }
}

function rootOf(part: Uint8Array): StructureNode {
  const node = decodeTtlv(part)
  if (node.type !== 'Structure') throw kmipFailure('GeneralFailure', 'The stream cannot be read.')
  return node
}

function objectOf(operation: OperationName, context: KmipContext): string {
  return operation === 'Hash' ? '' : context.key.object.id
}

/** Later parts may say the parameters again (CS-BC-M-GCM-3), but not others. */
function requireSame(first: StructureNode | undefined, again: StructureNode | undefined): void {
  if (again === undefined) return
  if (first === undefined || !isDeepStrictEqual(readParameters(first), readParameters(again)))
    throw kmipFailure('BadCryptographicParameters', 'CryptographicParameters are those of the first part.')
}

/**
 * Stages this part, which is not the last.
 * @returns the CorrelationValue for the next one
 * @throws ServerLimitExceeded for too many streams, parts or bytes
 */
export async function stagePart(
  operation: OperationName,
  { row }: Stream,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<Uint8Array> {
  const { services, principal, now, objects } = context
  const { db, seal } = services
  const bytes = (request.data?.length ?? 0) + (request.aad?.length ?? 0)
  requireRoom(row, bytes)
  const part = encodeTtlv(membersOf(request))
  const expires_at = now + streamLifetime
  if (row !== undefined) {
    objects.also(...growChanges(seal, row, part, bytes, expires_at))
    return Buffer.from(row.id, 'hex')
  }
  if ((await openStreams(db, principal.name, now)) >= maximumStreams)
    throw kmipFailure(
      'ServerLimitExceeded',
      `At most ${maximumStreams} operations may be under way in parts.`,
    )
  const correlation = randomBytes(correlationBytes)
  const opened = {
    id: correlation.toString('hex'),
    owner: principal.name,
    object_id: objectOf(operation, context),
    operation,
    bytes,
    expires_at,
  }
  objects.also(...openChanges(seal, opened, part, now))
  return correlation
}

/** @throws ServerLimitExceeded */
export function requireRoom(row: StreamRow | undefined, bytes: number): void {
  if ((row?.bytes ?? 0) + bytes > maximumStreamBytes)
    throw kmipFailure('ServerLimitExceeded', `All parts together have at most ${maximumStreamBytes} bytes.`)
  if ((row?.parts ?? 0) >= maximumParts)
    throw kmipFailure('ServerLimitExceeded', `There are at most ${maximumParts} parts.`)
}

/** Stages the end of the stream: it is gone with the answer to its last part. */
export function stageEnd({ row }: Stream, { objects }: KmipContext): void {
  if (row !== undefined) objects.also(...closeChanges(row))
}

function membersOf({
  parameters,
  data,
  iv,
  aad,
  signatureData,
  macData,
}: CryptographicRequest): StructureNode {
  const bytes = (tag: number, value: Uint8Array | undefined) =>
    value === undefined ? undefined : byteString(tag, value)
  return structure(Tag.RequestPayload, [
    parameters,
    bytes(Tag.Data, data),
    bytes(Tag.IVCounterNonce, iv),
    bytes(Tag.AuthenticatedEncryptionAdditionalData, aad),
    bytes(Tag.SignatureData, signatureData),
    bytes(Tag.MACData, macData),
  ])
}

/** All parts as one request. @throws InvalidField for digests: those are made of whole data */
export function joined(parts: readonly CryptographicRequest[]): CryptographicRequest {
  const [first] = parts
  const last = parts.at(-1)
  if (first === undefined || last === undefined) throw kmipFailure('MissingData', 'Data is missing.')
  if (parts.some(({ digestedData }) => digestedData !== undefined))
    throw kmipFailure('InvalidField', 'DigestedData does not come in parts.')
  const given = parts.flatMap(({ data }) => (data === undefined ? [] : [data]))
  const latest = (name: 'tag' | 'macData' | 'signatureData') =>
    parts.reduce<Uint8Array | undefined>((found, part) => part[name] ?? found, undefined)
  return {
    ...first,
    data: given.length === 0 ? undefined : Buffer.concat(given),
    tag: latest('tag'),
    macData: latest('macData'),
    signatureData: latest('signatureData'),
    correlation: undefined,
    init: true,
    final: true,
  }
}
