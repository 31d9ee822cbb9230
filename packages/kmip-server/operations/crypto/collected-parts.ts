import type { OperationName } from '@warder/kmip-codec'
import type { KmipContext } from '../../engine/types.ts'
import { type CryptographicRequest, isPart } from '../../streams/cryptographic-request.ts'
import {
  joinParts,
  objectId,
  requestsBefore,
  requireNoDigest,
  requireSameParameters,
  requireStream,
  stageEnd,
  stagePart,
} from '../../streams/stream.ts'
import type { StreamRow } from '../../streams/stream-store.ts'

/** Members of the reply to a part that is not the last one. */
interface PartReply {
  readonly uniqueIdentifier: string
  readonly correlation: Uint8Array
}

/**
 * For operations with output only at their end: `finish` gets the whole request, at once if it came in one message,
 * else with its last part.
 */
export async function collectParts<Reply>(
  operation: OperationName,
  request: CryptographicRequest,
  context: KmipContext,
  finish: (request: CryptographicRequest) => Promise<Reply>,
): Promise<Reply | PartReply> {
  return isPart(request) ? collectPart(operation, request, context, finish) : finish(request)
}

/** Stores this part, or executes the operation if it is the last one. */
async function collectPart<Reply>(
  operation: OperationName,
  request: CryptographicRequest,
  context: KmipContext,
  finish: (request: CryptographicRequest) => Promise<Reply>,
): Promise<Reply | PartReply> {
  const row = await requireStream(operation, request, context)
  return collect(operation, row, request, context, finish)
}

/** As `collectPart`, for a stream that was already found. */
export async function collect<Reply>(
  operation: OperationName,
  row: StreamRow | undefined,
  request: CryptographicRequest,
  context: KmipContext,
  finish: (request: CryptographicRequest) => Promise<Reply>,
): Promise<Reply | PartReply> {
  requireNoDigest(request)
  if (!request.final) {
    const { correlation } = await stagePart(operation, row, request, context)
    return { uniqueIdentifier: objectId(operation, context), correlation }
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
