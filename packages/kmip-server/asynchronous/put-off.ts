import { setTimeout as wait } from 'node:timers/promises'
import { newObjectId } from '@warder/keys'
import type {
  BatchErrorContinuation,
  OperationName,
  RequestItem,
  ResponseItem,
  TtlvNode,
} from '@warder/kmip-codec'
import { GuardFailed, StorageUnavailable } from '@warder/storage'
import { recordOrRefuse, took } from '../engine/batch.ts'
import { recordItems } from '../engine/data-items.ts'
import { type AnsweredItem, ItemRun, type Settlement } from '../engine/item.ts'
import type { JobContext } from '../engine/jobs.ts'
import type { Message } from '../engine/message.ts'
import { kmipFailure } from '../failure/failure.ts'
import {
  countPending,
  findPending,
  insertPending,
  lifetime,
  settlePending,
  sweepPending,
} from './pending-store.ts'
import { correlationValue, sealResult } from './result.ts'

/** Approximate memory of a decoded node beside the bytes of the message. */
const nodeBytes = 200

/**
 * Memory that a waiting request uses, in bytes. Values are views of the message, so that one of them keeps all of it; a
 * message of empty structures takes more in nodes than it has bytes.
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

/**
 * Limits in milliseconds while the answers of a batch wait for storage: the total, the first pause between attempts,
 * and the longest.
 */
const patience = { whole: 60_000, first: 50, maxMs: 2000 }

/**
 * Executes all items of a deferred batch. A failure of an item becomes its answer. If that answer cannot be written,
 * the item expires unanswered.
 */
async function carryOut(
  message: Message,
  items: readonly RequestItem[],
  ids: readonly string[],
  continuation: 'Continue' | 'Stop',
): Promise<void> {
  const waits = pauses()
  let stopped = false
  for (const [index, item] of items.entries()) {
    const id = ids[index] ?? ''
    const run = new ItemRun(message, item, undefined, settle(message, id))
    const answered = stopped
      ? run.failed(kmipFailure('GeneralFailure', 'An earlier item of the batch failed.'))
      : await run.run()
    if (answered.failure === undefined) took(message, answered)
    else stopped ||= continuation === 'Stop'
    try {
      await conclude(message, id, answered, waits)
    } catch (error) {
      logUnanswered(message, item, error)
    }
  }
}

function logUnanswered({ options, caller }: Message, { operation }: RequestItem, error: unknown): void {
  const about = { request_id: caller.requestId, operation: `kmip.${operation}`, detail: String(error) }
  options.log.error(about, 'a KMIP request that was put off could not be answered')
}

/** Records the outcome, then stores the answer. The answer of a successful item was committed with its changes. */
async function conclude(
  message: Message,
  id: string,
  answered: AnsweredItem,
  waits: Iterator<number>,
): Promise<void> {
  const { metrics, services } = message.options
  const { event } = answered
  metrics.operation(event.operation, event.status, event.duration_ms)
  let told = answered
  if (services.audit.mode === 'reject') told = await recordOrRefuse(message.options, answered)
  else if (!answered.recorded) {
    services.audit.record(event)
    await recordItems(services.audit, answered.items)
  }
  if (told.failure !== undefined) await tell(message, id, told.response, waits)
}

function settle(message: Message, id: string): Settlement {
  const { services } = message.options
  return {
    change: (response) => buildAnswer(message, id, response),
    wanted: async () =>
      (await findPending(services.db, id, message.principal.name, services.clock.now()))?.result === null,
  }
}

function buildAnswer(message: Message, id: string, response: ResponseItem) {
  const { seal, clock } = message.options.services
  return settlePending(id, sealResult(seal, id, response), clock.now() + lifetime)
}

/**
 * Stores the answer of a failed item, if need be once storage is available again. A cancelled request needs no answer.
 */
async function tell(
  message: Message,
  id: string,
  response: ResponseItem,
  waits: Iterator<number>,
): Promise<void> {
  for (;;) {
    try {
      await message.options.services.db.commit([buildAnswer(message, id, response)])
      return
    } catch (thrown) {
      if (thrown instanceof GuardFailed) return
      const pause = thrown instanceof StorageUnavailable ? waits.next() : undefined
      if (pause === undefined || pause.done) throw thrown
      await wait(pause.value, undefined, { ref: false })
    }
  }
}

function* pauses(): Generator<number> {
  let pause = patience.first
  for (let waited = 0; waited < patience.whole; waited += pause) {
    yield pause
    pause = Math.min(pause * 2, patience.maxMs)
  }
}
