import { setTimeout as wait } from 'node:timers/promises'
import type { RequestItem, ResponseItem } from '@warder/kmip-codec'
import { GuardFailed, StorageUnavailable } from '@warder/storage'
import { took } from '../engine/batch.ts'
import { recordItems } from '../engine/data-items.ts'
import { type AnsweredItem, ItemRun, type Settlement } from '../engine/item.ts'
import type { Message } from '../engine/message.ts'
import { recordOrRefuse } from '../engine/recorded.ts'
import { kmipFailure } from '../failure/failure.ts'
import { findPending, lifetime, settlePending } from './pending-store.ts'
import { sealResult } from './result.ts'

/**
 * Limits in milliseconds while the answers of a batch wait for storage: the total, the first pause between attempts,
 * and the longest.
 */
const patience = { whole: 60_000, first: 50, maxMs: 2000 }

/**
 * Executes all items of a deferred batch. A failure of an item becomes its answer. If that answer cannot be written,
 * the item expires unanswered.
 */
export async function carryOut(
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
