import type { MaybePromise } from '@warder/foundation/sql'
import { type OperationName, Tag } from '@warder/kmip/tables'
import { byteString, type StructureNode, type TtlvNode } from '@warder/kmip/ttlv'
import { type KmipContext, uniqueIdentifier } from '../engine/index.ts'
import { joined, requireRoom, stageEnd, stagePart, streamOf } from '../streams/index.ts'
import { type CryptographicRequest, isPart, readCryptographicRequest } from './cryptographic-request.ts'

type Answer = readonly (TtlvNode | undefined)[]

/**
 * For operations whose only output is at their end: `finish` is called with the whole request, at once when it is whole,
 * else with the last of its parts.
 */
export function collectParts(
  operation: OperationName,
  payload: StructureNode,
  context: KmipContext,
  finish: (request: CryptographicRequest) => MaybePromise<Answer>,
): MaybePromise<Answer> {
  const request = readCryptographicRequest(payload)
  return isPart(request) ? collectPart(operation, request, context, finish) : finish(request)
}

/** Keeps this part, or does the work if it is the last one. */
export async function collectPart(
  operation: OperationName,
  request: CryptographicRequest,
  context: KmipContext,
  finish: (request: CryptographicRequest) => MaybePromise<Answer>,
): Promise<Answer> {
  const stream = await streamOf(operation, request, context)
  if (!request.final) {
    const correlation = await stagePart(operation, stream, request, context)
    return [
      operation === 'Hash' ? undefined : uniqueIdentifier(context.key.object.id),
      byteString(Tag.CorrelationValue, correlation),
    ]
  }
  requireRoom(stream.row, request.data?.length ?? 0)
  const answer = await finish(joined([...stream.before, request]))
  stageEnd(stream, context)
  return answer
}
