import { newObjectId } from '@warder/keys'
import type { BatchErrorContinuation, OperationName, RequestItem, TtlvNode } from '@warder/kmip-codec'
import { type AnsweredItem, ItemRun } from '../engine/item.ts'
import type { JobContext } from '../engine/jobs.ts'
import type { Message } from '../engine/message.ts'
import { kmipFailure } from '../failure/failure.ts'
import { carryOut } from './carry-out.ts'
import { countPending, insertPending, lifetime, sweepPending } from './pending-store.ts'
import { correlationValue } from './result.ts'

/** Approximate memory of a decoded node beside the bytes of the message. */
const nodeBytes = 200

/**
 * Memory that a request keeps while it waits, in bytes. Values are views of the message, so that one of them keeps
 * all of it; a message of empty structures takes more in nodes than it has bytes.
 * @param size of the buffer that the message lies in
 */
function countKeptBytes(size: number, items: readonly RequestItem[]): number {
  let nodes = 0
  for (const { payload, extensions } of items) {
    nodes += countNodes(payload)
    for (const extension of extensions) nodes += countNodes(extension)
  }
  return size + nodes * nodeBytes
}

function countNodes(node: TtlvNode): number {
  if (node.type !== 'Structure') return 1
  return node.value.reduce((sum, member) => sum + countNodes(member), 1)
}

/** Maximum number of a user's requests that are pending or whose answers wait. */
export const maxPerUser = 100

/** Operations answered at once even in an asynchronous batch (KMIP 2.1 §6.1.5, §6.1.38, §6.1.39). */
const immediate: ReadonlySet<OperationName> = new Set<OperationName>([
  'Poll',
  'Cancel',
  'Process',
  'QueryAsynchronousRequests',
  'Ping',
  'Query',
  'DiscoverVersions',
])

export function canBePutOff(items: readonly RequestItem[]): boolean {
  return items.every(({ operation, refusal }) => refusal === undefined && !immediate.has(operation))
}

/**
 * Asynchronous processing (KMIP 2.1 §9.2): each item is answered OperationPending with a value to poll for, and the
 * batch is executed afterwards, in order. An item's changes and its answer are one commit: a cancelled item has changed
 * nothing, and the changes of an answered item are stored. Requests that a worker had not begun when it stopped expire
 * unanswered.
 */
export async function defer(
  message: Message,
  items: readonly RequestItem[],
  continuation: BatchErrorContinuation | undefined,
): Promise<readonly AnsweredItem[]> {
  const { services } = message.options
  const { name: owner } = message.principal
  const now = services.clock.now()
  const runs = items.map((item) => new ItemRun(message, item, undefined))
  const ids = items.map((): string => newObjectId(now))
  let place: JobContext | undefined
  try {
    if (continuation === 'Undo')
      throw kmipFailure('FeatureNotSupported', 'A batch that is put off cannot be undone.')
    if ((await countPending(services.db, owner, now)) + items.length > maxPerUser)
      throw kmipFailure('ServerLimitExceeded', `At most ${maxPerUser} requests of a user can be put off.`)
    place = message.jobs.reserve(owner, countKeptBytes(message.size, items))
    if (place === undefined) throw kmipFailure('ServerLimitExceeded', 'Too many requests wait already.')
    const rows = items.map(({ operation }, index) =>
      insertPending({ id: ids[index] ?? '', owner, operation, expires_at: now + lifetime }),
    )
    await services.db.commit([sweepPending(now), ...rows])
  } catch (thrown) {
    place?.giveBack()
    return runs.map((run) => run.failed(thrown))
  }
  place.fill(() => carryOut(message, items, ids, continuation ?? 'Stop'), ids)
  return runs.map((run, index) => run.pending(correlationValue(ids[index] ?? '')))
}
