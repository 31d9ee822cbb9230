import { Tag } from '@warder/kmip-codec'
import { cancelPending, findPending, type PendingRow } from '../../asynchronous/pending-store.ts'
import { correlationValue, decryptResult, parseCorrelation } from '../../asynchronous/result.ts'
import { signedIn } from '../../engine/access.ts'
import { defineOperation } from '../../engine/operation.ts'
import { type KmipContext, WholeAnswer } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { type DecodedPayload, definePayload, field, noMembers, required } from '../../payloads/payload.ts'

const correlation = required(field.bytes(Tag.AsynchronousCorrelationValue))

/** A request about a deferred one. */
export const pendingRequest = definePayload({ correlation })

/**
 * Poll (KMIP 2.1 §6.1.38): the answer to a deferred request, the same as for a synchronous request; OperationPending
 * while there is none. It can be fetched again until it expires.
 */
export const poll = defineOperation({
  name: 'Poll',
  reach: [],
  access: signedIn,
  request: pendingRequest,
  // That of the deferred operation.
  reply: noMembers,
  async handle(request, context) {
    const row = await requirePending(request, context)
    if (row.result === null)
      return new WholeAnswer({
        status: 'OperationPending',
        asynchronousCorrelationValue: correlationValue(row.id),
      })
    return new WholeAnswer(await decryptResult(context.services.seal, row.id, row.operation, row.result))
  },
})

/** Cancel (KMIP 2.1 §6.1.5): a request that is not done yet is not executed. */
export const cancel = defineOperation({
  name: 'Cancel',
  reach: [],
  access: signedIn,
  request: pendingRequest,
  reply: definePayload({ correlation, result: required(field.named('CancellationResult')) }),
  async handle(request, context) {
    const row = await requirePending(request, context)
    if (row.result === null) context.objects.also(cancelPending(row.id))
    const result = row.result === null ? ('Canceled' as const) : ('Completed' as const)
    return { correlation: correlationValue(row.id), result }
  },
})

/** The caller's request with this correlation value. @throws kmipFailure InvalidAsynchronousCorrelationValue */
export async function requirePending(
  { correlation }: DecodedPayload<typeof pendingRequest>,
  context: KmipContext,
): Promise<PendingRow> {
  const id = parseCorrelation(correlation)
  const { services, principal, now } = context
  const row = id === undefined ? undefined : await findPending(services.db, id, principal.name, now)
  if (row === undefined)
    throw kmipFailure('InvalidAsynchronousCorrelationValue', 'There is no request with this value.')
  return row
}
