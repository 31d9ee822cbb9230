import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, enumeration, requireMember, type StructureNode } from '@warder/kmip/ttlv'
import { cancelPending, findPending, type PendingRow } from '../../asynchronous/pending-store.ts'
import { correlationValue, decryptResult, parseCorrelation } from '../../asynchronous/result.ts'
import {
  type KmipContext,
  type KmipOperation,
  kmipFailure,
  signedIn,
  WholeAnswer,
} from '../../engine/index.ts'

/**
 * Poll (KMIP 2.1 §6.1.38): the answer to a deferred request, the same as for a synchronous request; OperationPending
 * while there is none. It can be fetched again until it expires.
 */
export const poll: KmipOperation = {
  name: 'Poll',
  access: signedIn,
  async act(payload, context) {
    const row = await requirePending(payload, context)
    if (row.result === null)
      return new WholeAnswer({
        status: 'OperationPending',
        asynchronousCorrelationValue: correlationValue(row.id),
      })
    return new WholeAnswer(await decryptResult(context.services.seal, row.id, row.operation, row.result))
  },
}

/** Cancel (KMIP 2.1 §6.1.5): a request that is not done yet is not executed. */
export const cancel: KmipOperation = {
  name: 'Cancel',
  access: signedIn,
  async act(payload, context) {
    const row = await requirePending(payload, context)
    const { CancellationResult } = Enumeration
    if (row.result === null) context.objects.also(cancelPending(row.id))
    return [
      byteString(Tag.AsynchronousCorrelationValue, correlationValue(row.id)),
      enumeration(
        Tag.CancellationResult,
        row.result === null ? CancellationResult.Canceled : CancellationResult.Completed,
      ),
    ]
  },
}

/** The caller's request with this correlation value. @throws kmipFailure InvalidAsynchronousCorrelationValue */
export async function requirePending(payload: StructureNode, context: KmipContext): Promise<PendingRow> {
  const id = parseCorrelation(requireMember(payload, Tag.AsynchronousCorrelationValue, 'ByteString'))
  const { services, principal, now } = context
  const row = id === undefined ? undefined : await findPending(services.db, id, principal.name, now)
  if (row === undefined)
    throw kmipFailure('InvalidAsynchronousCorrelationValue', 'There is no request with this value.')
  return row
}
