import type { PreparedCommit } from '@warder/audit'
import { failure } from '@warder/base'
import { UnitOfWork } from '@warder/keys'
import { type BatchErrorContinuation, type RequestItem, type ResponseItem, Tag } from '@warder/kmip-codec'
import { GuardFailed, OutcomeUnknown } from '@warder/storage'
import { kmipFailure, toPublicFailure } from '../failure/failure.ts'
import { recordItems } from './data-items.ts'
import { type AnsweredItem, ItemRun } from './item.ts'
import type { KmipEngineOptions, Message } from './message.ts'

/** Maximum attempts of a batch with Undo, which restarts from its reads after a concurrent change. */
const attempts = 10

/**
 * Milliseconds after which no further item of a batch is started: a thousand RSA key pairs in one message would keep
 * the thread pool busy for hours after the client has disconnected.
 */
const maxBatchBytes = 120_000

/**
 * Executes the items of a batch in order (KMIP 2.1 §9.6, §9.8). Continue: each item is independent. Stop, the default:
 * items after a failed one are neither executed nor answered. Undo: nothing is committed unless all items succeed.
 * @param newMessage creates the state of the batch for each attempt
 */
export async function runBatch(
  newMessage: () => Message,
  items: readonly RequestItem[],
  continuation: BatchErrorContinuation | undefined,
): Promise<readonly AnsweredItem[]> {
  const [only] = items
  if (items.length === 1 && only !== undefined) {
    return [await new ItemRun(newMessage(), only, undefined).run()]
  }
  if (continuation === 'Undo') return runWhole(newMessage, items)
  return runEach(newMessage(), items, continuation ?? 'Stop')
}

async function runEach(
  message: Message,
  items: readonly RequestItem[],
  continuation: 'Continue' | 'Stop',
): Promise<readonly AnsweredItem[]> {
  const answers: AnsweredItem[] = []
  const inTime = timer(message)
  for (const item of items) {
    const run = new ItemRun(message, item, undefined)
    const answered = inTime() ? await run.run() : run.failed(tooLong())
    answers.push(answered)
    if (answered.failure === undefined) took(message, answered)
    else if (continuation === 'Stop') break
  }
  return answers
}

async function runWhole(
  newMessage: () => Message,
  items: readonly RequestItem[],
): Promise<readonly AnsweredItem[]> {
  let announced: PreparedCommit | undefined
  for (let attempt = 1; ; attempt++) {
    const message = newMessage()
    const { services } = message.options
    const objects = new UnitOfWork(services, services.clock.now())
    const runs = items.map((item) => new ItemRun(message, item, objects))
    const answers: AnsweredItem[] = []
    const inTime = timer(message)
    try {
      for (const run of runs) {
        const answered = inTime() ? await run.run() : run.failed(tooLong())
        answers.push(answered)
        if (answered.failure !== undefined) return undoItems(runs, answers, announced)
        took(message, answered)
      }
      if (!objects.empty && services.audit.mode === 'reject')
        announced ??= await services.audit.commits?.begin()
      return await commitWhole(message, objects, runs, answers, announced)
    } catch (thrown) {
      // The commit may have happened, so the answer cannot be that it was undone.
      if (thrown instanceof OutcomeUnknown) return runs.map((run) => run.lost(thrown))
      if (thrown instanceof GuardFailed && attempt < attempts) continue
      const reason =
        thrown instanceof GuardFailed
          ? kmipFailure('GeneralFailure', 'Another request changed it at the same time: try again.')
          : thrown
      const last = runs.at(-1)
      if (last !== undefined) answers.splice(-1, 1, last.failed(reason))
      return undoItems(runs, answers, announced)
    } finally {
      objects.clear()
    }
  }
}

function timer({ options }: Message): () => boolean {
  const { clock } = options.services
  const began = clock.monotonic()
  return () => clock.monotonic() - began < maxBatchBytes
}

function tooLong(): Error {
  return kmipFailure('ServerLimitExceeded', 'The batch takes too long: send its items one by one.')
}

/** Stores the results of a successful item that later items may use. */
export function took(message: Message, { response: { operation }, outputs }: AnsweredItem): void {
  if (operation === undefined) return
  message.identifiers.took(operation, outputs)
  message.data.took(operation, outputs)
}

async function commitWhole(
  message: Message,
  objects: UnitOfWork,
  runs: readonly ItemRun[],
  answers: readonly AnsweredItem[],
  announced: PreparedCommit | undefined,
): Promise<readonly AnsweredItem[]> {
  const { audit, db } = message.options.services
  if (objects.empty) return answers
  const changes = await objects.changes()
  const reject = audit.mode === 'reject'
  if (reject) await Promise.all(answers.map((answered, index) => runs[index]?.announce(answered, announced)))
  await (announced === undefined ? db.commit(changes) : announced.commit(db.commit, changes))
  return answers.map((answered) => ({ ...answered, recorded: reject }))
}

/** Members that stay in the answer to an undone item (BL-M-2). */
const stillSaid: ReadonlySet<number> = new Set([
  Tag.UniqueIdentifier,
  Tag.PrivateKeyUniqueIdentifier,
  Tag.PublicKeyUniqueIdentifier,
])

/**
 * Undoes the items before the failed one: nothing of them was committed. Their results are not returned either: a
 * returned ciphertext or key would be a use that no usage limit has counted.
 */
function undoItems(
  runs: readonly ItemRun[],
  answers: readonly AnsweredItem[],
  announced: PreparedCommit | undefined,
): readonly AnsweredItem[] {
  return answers.map((answered, index): AnsweredItem => {
    const run = runs[index]
    if (answered.failure !== undefined || run === undefined) return { ...answered, announced }
    const { payload = [], ...response } = answered.response
    const event = run.event(409, 'OperationUndone')
    return {
      response: {
        ...response,
        status: 'OperationUndone',
        payload: payload.filter(({ tag }) => stillSaid.has(tag)),
      },
      event,
      items: run.items(event),
      recorded: false,
      announced,
      outputs: [],
      failure: undefined,
    }
  })
}

/**
 * Audit mode `reject`: an outcome that cannot be recorded is not returned. A change that was committed, or may have
 * been, is already recorded, and its answer must not claim that nothing was done.
 */
export async function recordOrRefuse(
  options: KmipEngineOptions,
  answered: AnsweredItem,
): Promise<AnsweredItem> {
  if (answered.recorded) return answered
  try {
    const { audit } = options.services
    await audit.recordDurably(answered.event)
    if (answered.items.length > 0) await recordItems(audit, answered.items)
    answered.announced?.markResolved()
    return answered
  } catch (cause) {
    answered.announced?.markInDoubt()
    if (answered.unknown === true) return answered
    const {
      reason,
      message,
      failure: told,
    } = toPublicFailure(failure('audit_unavailable', undefined, { cause }))
    const { operation, uniqueBatchItemId } = answered.response
    const response: ResponseItem = {
      operation,
      uniqueBatchItemId,
      status: 'OperationFailed',
      reason,
      message,
    }
    return { ...answered, response, failure: told }
  }
}
