import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { maximumStreamBytes } from '@warder/crypto'
import {
  decodeTtlv,
  encodeTtlv,
  type OperationName,
  type StructureNode,
  structure,
  Tag,
} from '@warder/kmip-codec'
import { readParameters } from '../crypto/parameters.ts'
import type { KmipContext } from '../engine/types.ts'
import { kmipFailure } from '../failure/failure.ts'
import { type CryptographicRequest, cryptographicRequest } from './cryptographic-request.ts'
import {
  closeChanges,
  findStream,
  growChanges,
  openChanges,
  openStreams,
  readFirstPart,
  readParts,
  type StreamRow,
} from './stream-store.ts'

/** Maximum time until the next part of a stream. */
export const streamLifetime = 5 * 60 * 1000
/** Maximum number of open streams of one user. */
const maximumStreams = 16
/** Maximum number of parts of one stream. */
const maximumParts = 4096
const correlationBytes = 16

/**
 * The stream that a part belongs to. The correlation value is bound to the user, the operation and the key.
 * @returns undefined for the first part
 * @throws InvalidCorrelationValue for a value that is unknown, expired, or of another user, operation or key;
 *   InvalidField for members that only the first part may have; ServerLimitExceeded when the part exceeds a limit
 */
export async function requireStream(
  operation: OperationName,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<StreamRow | undefined> {
  const { correlation, init } = request
  if (correlation === undefined) {
    requireRoom(undefined, request)
    return undefined
  }
  if (init) throw kmipFailure('InvalidField', 'The first part has no CorrelationValue.')
  const { db } = context.services
  const row =
    correlation.length === correlationBytes
      ? await findStream(db, Buffer.from(correlation).toString('hex'), context.principal.name, context.now)
      : undefined
  if (row === undefined || row.operation !== operation || row.object_id !== objectId(operation, context))
    throw kmipFailure('InvalidCorrelationValue', 'The CorrelationValue is not known.')
  if (request.iv !== undefined || request.aad !== undefined)
    throw kmipFailure('InvalidField', 'IV and additional data come with the first part.')
  requireRoom(row, request)
  return row
}

function requireRoom(row: StreamRow | undefined, request: CryptographicRequest): void {
  if ((row?.bytes ?? 0) + measureRequest(request) > maximumStreamBytes)
    throw kmipFailure('ServerLimitExceeded', `All parts together have at most ${maximumStreamBytes} bytes.`)
  if ((row?.parts ?? 0) >= maximumParts)
    throw kmipFailure('ServerLimitExceeded', `There are at most ${maximumParts} parts.`)
}

function measureRequest({ data, aad }: CryptographicRequest): number {
  return (data?.length ?? 0) + (aad?.length ?? 0)
}

/** The object of a stream; none for Hash. */
export function objectId(operation: OperationName, context: KmipContext): string {
  return operation === 'Hash' ? '' : context.key.object.id
}

/** The requests of the parts before, in their order. At least one, the first. */
export async function requestsBefore(
  row: StreamRow,
  { services }: KmipContext,
): Promise<readonly [CryptographicRequest, ...CryptographicRequest[]]> {
  const parts = await readParts(services.db, services.seal, row)
  const [first, ...others] = parts.map((part) => cryptographicRequest.decode(decodeRoot(part)))
  if (first === undefined) throw kmipFailure('GeneralFailure', 'The stream cannot be read.')
  return [first, ...others]
}

/** The request of the first part. */
export async function readStoredFirst(
  row: StreamRow,
  { services }: KmipContext,
): Promise<CryptographicRequest> {
  const part = await readFirstPart(services.db, services.seal, row)
  if (part === undefined) throw kmipFailure('GeneralFailure', 'The stream cannot be read.')
  return cryptographicRequest.decode(decodeRoot(part))
}

function decodeRoot(part: Uint8Array): StructureNode {
  const node = decodeTtlv(part)
  if (node.type !== 'Structure') throw kmipFailure('GeneralFailure', 'The stream cannot be read.')
  return node
}

/**
 * Later parts may repeat the parameters (CS-BC-M-GCM-3), but not change them.
 * @throws BadCryptographicParameters
 */
export function requireSameParameters(
  first: CryptographicRequest,
  { parameters }: CryptographicRequest,
): void {
  if (parameters === undefined || parameters === first.parameters) return
  if (
    first.parameters === undefined ||
    !isDeepStrictEqual(readParameters(first.parameters), readParameters(parameters))
  )
    throw kmipFailure('BadCryptographicParameters', 'CryptographicParameters are those of the first part.')
}

/** Identity of a staged part. */
export interface StagedPart {
  readonly id: string
  readonly tip: string
  /** The CorrelationValue for the next one. */
  readonly correlation: Uint8Array
}

/**
 * Stages this part, which is not the last.
 * @param replayed bytes of earlier parts that were processed again for this one
 * @throws ServerLimitExceeded for too many streams
 */
export async function stagePart(
  operation: OperationName,
  row: StreamRow | undefined,
  request: CryptographicRequest,
  context: KmipContext,
  replayed = 0,
): Promise<StagedPart> {
  const { services, principal, now, objects } = context
  const { db, seal } = services
  const part = encodeTtlv(toStructure(request))
  const tip = randomBytes(correlationBytes).toString('hex')
  const bytes = measureRequest(request)
  const expires_at = now + streamLifetime
  if (row !== undefined) {
    objects.also(
      ...growChanges(seal, row, part, { bytes, tip, replayed: row.replayed + replayed, expires_at }),
    )
    return { id: row.id, tip, correlation: Buffer.from(row.id, 'hex') }
  }
  if ((await openStreams(db, principal.name, now)) >= maximumStreams)
    throw kmipFailure(
      'ServerLimitExceeded',
      `At most ${maximumStreams} operations may be under way in parts.`,
    )
  const correlation = randomBytes(correlationBytes)
  const id = correlation.toString('hex')
  const object_id = objectId(operation, context)
  const opened = {
    id,
    owner: principal.name,
    object_id,
    operation,
    parts: 1,
    bytes,
    tip,
    replayed: 0,
    expires_at,
  }
  objects.also(...openChanges(seal, opened, part, now))
  return { id, tip, correlation }
}

/** Stages the end of the stream, which is deleted with the answer to its last part. */
export function stageEnd(row: StreamRow | undefined, { objects }: KmipContext): void {
  if (row !== undefined) objects.also(...closeChanges(row))
}

function toStructure(request: CryptographicRequest): StructureNode {
  const { parameters, data, iv, aad, signatureData, macData } = request
  const kept = { parameters, data, iv, aad, signatureData, macData }
  return structure(Tag.RequestPayload, cryptographicRequest.encode(kept))
}

/** A digest requires the whole data. @throws InvalidField */
export function requireNoDigest({ digestedData }: CryptographicRequest): void {
  if (digestedData !== undefined) throw kmipFailure('InvalidField', 'DigestedData does not come in parts.')
}

/** All parts as one request. */
export function joinParts(
  parts: readonly [CryptographicRequest, ...CryptographicRequest[]],
): CryptographicRequest {
  const given = parts.flatMap(({ data }) => (data === undefined ? [] : [data]))
  const latest = (name: 'tag' | 'macData' | 'signatureData') =>
    parts.reduce<Uint8Array | undefined>((found, part) => part[name] ?? found, undefined)
  return {
    ...parts[0],
    data: given.length === 0 ? undefined : Buffer.concat(given),
    tag: latest('tag'),
    macData: latest('macData'),
    signatureData: latest('signatureData'),
    correlation: undefined,
    init: true,
    final: true,
  }
}
