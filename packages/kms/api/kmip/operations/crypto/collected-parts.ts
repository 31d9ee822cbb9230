import type { MaybePromise } from '@warder/foundation/promises'
import { type OperationName, Tag } from '@warder/kmip/tables'
import { byteString, type StructureNode, type TtlvNode } from '@warder/kmip/ttlv'
import { type KmipContext, uniqueIdentifier } from '../../engine/index.ts'
import {
  type CryptographicRequest,
  isPart,
  readReceivedRequest,
} from '../../streams/cryptographic-request.ts'
import {
  joinParts,
  requestsBefore,
  requireNoDigest,
  requireSameParameters,
  requireStream,
  type StreamRow,
  stageEnd,
  stagePart,
} from '../../streams/index.ts'

type Answer = readonly (TtlvNode | undefined)[]

/**
 * For operations with output only at their end: `finish` gets the whole request, at once if it came in one message,
 * else with its last part.
 */
export function collectParts(
  operation: OperationName,
  payload: StructureNode,
  context: KmipContext,
  finish: (request: CryptographicRequest) => MaybePromise<Answer>,
): MaybePromise<Answer> {
  const request = readReceivedRequest(payload, context)
  return isPart(request) ? collectPart(operation, request, context, finish) : finish(request)
}

/** Stores this part, or executes the operation if it is the last one. */
async function collectPart(
  operation: OperationName,
  request: CryptographicRequest,
  context: KmipContext,
  finish: (request: CryptographicRequest) => MaybePromise<Answer>,
): Promise<Answer> {
  const row = await requireStream(operation, request, context)
  return collect(operation, row, request, context, finish)
}

/** As `collectPart`, for a stream that was already found. */
export async function collect(
  operation: OperationName,
  row: StreamRow | undefined,
  request: CryptographicRequest,
  context: KmipContext,
  finish: (request: CryptographicRequest) => MaybePromise<Answer>,
): Promise<Answer> {
  requireNoDigest(request)
  if (!request.final) {
    const { correlation } = await stagePart(operation, row, request, context)
    return [
      operation === 'Hash' ? undefined : uniqueIdentifier(context.key.object.id),
      byteString(Tag.CorrelationValue, correlation),
    ]
  }
  const before = row === undefined ? [] : await requestsBefore(row, context)
  const [first = request] = before
  requireSameParameters(first, request)
  const answer = await finish(
    joinParts(before.length === 0 ? [request] : [first, ...before.slice(1), request]),
  )
  stageEnd(row, context)
  return answer
}
