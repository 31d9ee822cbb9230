import { failure } from '../errors/index.ts'
import {
  type BatchBuilder,
  type BatchMemory,
  compactBatch,
  createBuilder,
  hasDefaultSize,
  type RecordBatch,
} from './batch.ts'
import type { AuditConnection, FromWriter, ToWriter } from './messages.ts'
import { createRecordMaker } from './record.ts'
import type { AuditFailureMode, AuditTrail } from './types.ts'

/** Records that are not durable are sent in batches: waking the writer by a message costs more than a record. */
const gatherMs = 10

/** Records that the writer has not accepted yet: further ones are lost, and counted. */
const maxWaitingRecords = 50_000
/** Free batch memories that are kept for reuse. */
const maxSpareBatches = 4
/** With more batches than this under way, a batch is compacted before it is sent. */
const maxWholeBatches = 16
/** Durable records that may wait for the writer. */
const maxUnanswered = 20_000

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/**
 * A worker's side of the audit log: formats the records and sends them to the writer. Durable records are sent at the end
 * of the turn, all others a few milliseconds later.
 * @param connection of `AuditLog.connect()`
 */
export function createAuditClient(
  connection: AuditConnection,
  mode: AuditFailureMode,
): AuditTrail & { close(): void } {
  const { port } = connection
  const makeRecord = createRecordMaker(connection)
  let batch: BatchBuilder | undefined
  let durable: number[] = []
  const spare: BatchMemory[] = []
  /** Of the writer's last message; a wrong width costs the writer some work. */
  let seqDigits = 1
  let lost = 0
  /** Records sent and not yet accepted by the writer. */
  let underWay = 0
  let untakenBatches = 0
  let scheduled: 'no' | 'soon' | 'this turn' = 'no'
  let nextId = 1
  const waiting = new Map<number, Waiting>()
  let closed = false

  const keepSpare = (memory: BatchMemory): void => {
    if (spare.length < maxSpareBatches && hasDefaultSize(memory)) spare.push(memory)
  }
  const compactIfBehind = (built: RecordBatch | undefined): RecordBatch | undefined => {
    const small = built !== undefined && untakenBatches >= maxWholeBatches ? compactBatch(built) : undefined
    if (built !== undefined && small !== undefined) keepSpare({ bytes: built.bytes, marks: built.marks })
    return small ?? built
  }
  const send = (): void => {
    scheduled = 'no'
    if (batch === undefined && lost === 0) return
    const built = compactIfBehind(batch?.build())
    const message: ToWriter = { type: 'records', batch: built, durable, lost }
    underWay += built?.count ?? 0
    untakenBatches += built === undefined ? 0 : 1
    batch = undefined
    durable = []
    lost = 0
    port.postMessage(message, built === undefined ? [] : [built.bytes.buffer, built.marks.buffer])
  }
  const add = (event: Parameters<AuditTrail['record']>[0], when: 'soon' | 'this turn'): boolean => {
    if (closed || (batch?.count ?? 0) + underWay >= maxWaitingRecords) {
      lost += 1
      return false
    }
    const record = makeRecord(event)
    if (batch?.add(record) !== true) {
      send()
      batch = createBuilder(record, seqDigits, () => spare.pop())
      batch.add(record)
    }
    if (scheduled === 'no' || (scheduled === 'soon' && when === 'this turn')) {
      scheduled = when
      if (when === 'soon') setTimeout(send, gatherMs)
      else setImmediate(send)
    }
    return true
  }
  const waitForAnswer = (id: number): Promise<void> =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) port.ref()
      waiting.set(id, { resolve, reject })
    })
  const sendQuestion = (type: 'flush' | 'probe'): Promise<void> => {
    const id = nextId++
    const done = waitForAnswer(id)
    port.postMessage({ type, id } satisfies ToWriter)
    return done
  }
  const settleAnswer = (id: number, error: Error | undefined): void => {
    const one = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) port.unref()
    if (error === undefined) one?.resolve()
    else one?.reject(error)
  }

  port.on('message', (message: FromWriter) => {
    if ('taken' in message) {
      underWay -= message.taken
      untakenBatches -= 1
      seqDigits = message.seqDigits
      for (const memory of message.memory) keepSpare(memory)
      return
    }
    const { written, failed } = message
    for (const id of written) settleAnswer(id, undefined)
    for (const id of failed)
      settleAnswer(id, failure('audit_unavailable', 'the audit writer could not write'))
  })
  port.on('close', () => {
    closed = true
    for (const id of [...waiting.keys()])
      settleAnswer(id, failure('audit_unavailable', 'the audit writer has ended'))
  })
  port.unref()

  return {
    mode,
    record(event) {
      add(event, 'soon')
    },
    async recordDurably(event) {
      if (waiting.size >= maxUnanswered || !add(event, 'this turn')) {
        throw failure('audit_unavailable', 'too many records wait for the audit writer')
      }
      const id = nextId++
      durable.push(id)
      return waitForAnswer(id)
    },
    async flush() {
      send()
      if (closed) return
      return sendQuestion('flush')
    },
    async probe() {
      if (closed) throw failure('audit_unavailable', 'the audit writer has ended')
      return sendQuestion('probe')
    },
    close: () => port.close(),
  }
}
