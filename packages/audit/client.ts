import { failure } from '@warder/base'
import type { RecordBatch } from './batch.ts'
import type { AuditConnection, FromWriter, ToWriter } from './messages.ts'
import type { PreparedCommits } from './prepared-commits.ts'
import { createRecordMaker } from './record.ts'
import type { AuditEvent, AuditFailureMode, AuditTrail } from './types.ts'

/** Records that are not durable are sent in batches: waking the writer by a message costs more than a record. */
const gatherMs = 10

/** Records that the writer has not accepted yet: further ones are lost, and counted. */
const maxWaitingRecords = 50_000
/** A larger batch is sent before the next record is added. */
const maxBatchLength = 64 * 1024
/** Durable records that may wait for the writer. */
const maxUnanswered = 20_000

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/**
 * Creates the audit trail of a worker. The worker formats its records and sends them to the writer: durable records at
 * the end of the turn, all others a few milliseconds later.
 * @param connection of `AuditLog.connect()`
 * @param commits of the trail, for `reject`
 */
export function createAuditClient(
  connection: AuditConnection,
  mode: AuditFailureMode,
  commits?: PreparedCommits,
): AuditTrail & { close(): void } {
  return new AuditClient(connection, mode, commits)
}

class AuditClient implements AuditTrail {
  readonly mode: AuditFailureMode
  readonly commits: PreparedCommits | undefined
  readonly #port: AuditConnection['port']
  readonly #makeRecord: ReturnType<typeof createRecordMaker>
  /** Records that are not sent yet. */
  #text = ''
  #count = 0
  #durable: number[] = []
  #lost = 0
  /** Records sent and not yet accepted by the writer. */
  #underWay = 0
  #scheduled: 'no' | 'soon' | 'this turn' = 'no'
  #nextId = 1
  readonly #waiting = new Map<number, Waiting>()
  #closed = false

  constructor(connection: AuditConnection, mode: AuditFailureMode, commits: PreparedCommits | undefined) {
    this.mode = mode
    this.commits = commits
    this.#port = connection.port
    this.#makeRecord = createRecordMaker(connection)
    this.#port.on('message', (message: FromWriter) => this.#receive(message))
    this.#port.on('close', () => {
      this.#closed = true
      this.#rejectAll([...this.#waiting.keys()], 'the audit writer has ended')
    })
    this.#port.unref()
  }

  record(event: AuditEvent): void {
    this.#add(event, 'soon')
  }

  async recordDurably(event: AuditEvent): Promise<void> {
    if (this.#waiting.size >= maxUnanswered || !this.#add(event, 'this turn')) {
      throw failure('audit_unavailable', 'too many records wait for the audit writer')
    }
    const id = this.#nextId++
    this.#durable.push(id)
    return this.#waitForAnswer(id)
  }

  async flush(): Promise<void> {
    this.#send()
    if (this.#closed) return
    return this.#sendQuestion('flush')
  }

  async probe(): Promise<void> {
    if (this.#closed) throw failure('audit_unavailable', 'the audit writer has ended')
    return this.#sendQuestion('probe')
  }

  close(): void {
    this.#port.close()
  }

  /** @returns false: it is lost, and counted */
  #add(event: AuditEvent, when: 'soon' | 'this turn'): boolean {
    if (this.#closed || this.#count + this.#underWay >= maxWaitingRecords) {
      this.#lost += 1
      return false
    }
    if (this.#text.length > maxBatchLength) this.#send()
    this.#text += this.#makeRecord(event)
    this.#count += 1
    this.#schedule(when)
    return true
  }

  #schedule(when: 'soon' | 'this turn'): void {
    if (this.#scheduled === 'this turn' || this.#scheduled === when) return
    this.#scheduled = when
    if (when === 'soon') setTimeout(this.#sendScheduled, gatherMs)
    else setImmediate(this.#sendScheduled)
  }

  readonly #sendScheduled = (): void => this.#send()

  #send(): void {
    this.#scheduled = 'no'
    if (this.#count === 0 && this.#lost === 0) return
    const batch: RecordBatch | undefined =
      this.#count === 0 ? undefined : { text: this.#text, count: this.#count }
    const message: ToWriter = { type: 'records', batch, durable: this.#durable, lost: this.#lost }
    this.#underWay += this.#count
    this.#text = ''
    this.#count = 0
    this.#durable = []
    this.#lost = 0
    this.#port.postMessage(message)
  }

  #sendQuestion(type: 'flush' | 'probe'): Promise<void> {
    const id = this.#nextId++
    const done = this.#waitForAnswer(id)
    this.#port.postMessage({ type, id } satisfies ToWriter)
    return done
  }

  #waitForAnswer(id: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#port.ref()
      this.#waiting.set(id, { resolve, reject })
    })
  }

  #receive(message: FromWriter): void {
    if ('taken' in message) {
      this.#underWay -= message.taken
      return
    }
    for (const id of message.written) this.#settleAnswer(id, undefined)
    this.#rejectAll(message.failed, 'the audit writer could not write')
  }

  #rejectAll(ids: readonly number[], detail: string): void {
    for (const id of ids) this.#settleAnswer(id, failure('audit_unavailable', detail))
  }

  #settleAnswer(id: number, error: Error | undefined): void {
    const one = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#port.unref()
    if (error === undefined) one?.resolve()
    else one?.reject(error)
  }
}
