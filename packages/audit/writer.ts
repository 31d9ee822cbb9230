import { basename } from 'node:path'
import { type Clock, failure, type Logger, type Metrics } from '@warder/base'
import { chainBatch, getMemoryBytes, type RecordBatch } from './batch.ts'
import { CurrentFile, type CurrentFileOptions } from './current-file.ts'
import { type ChainHead, createRecordMaker } from './record.ts'
import type { AuditEvent, AuditFailureMode } from './types.ts'

export interface WriterOptions extends CurrentFileOptions {
  readonly service: string
  readonly node: string
  readonly mode: AuditFailureMode
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics | undefined
}

type Done = (error: Error | undefined) => void

interface Waiting {
  readonly batch: RecordBatch
  /** Number of its records that must be on disk before `done` is called. */
  readonly durable: number
  readonly done: Done | undefined
}

/** `continue`: a power cut loses the records of at most this time. */
const syncEveryMs = 50
const maxGroupRecords = 4096
/** Records that may wait while the disk is slow; more are counted as lost (continue) or refused (reject). */
const maxWaitingRecords = 200_000
/** Max memory of waiting records. */
const maxWaitingBytes = 64 * 1024 * 1024
const logFailureEveryMs = 10_000
/** More than most records. Without a newline: if a crash leaves it in the file, it is a torn line. */
const probeBytes = Buffer.alloc(4096, ' ')

/** The only writer of a chain: groups waiting records, with one append (and one fsync) a group. */
export class AuditWriter {
  readonly #options: WriterOptions
  readonly #makeRecord: (event: AuditEvent) => string
  #head: ChainHead
  readonly #current: CurrentFile
  #queue: Waiting[] = []
  /** Records in the queue. */
  #queued = 0
  /** Memory of the queue. */
  #queuedBytes = 0
  #pumping: Promise<void> | undefined
  /** Callers that wait to learn whether the file can be written. */
  #probes: Done[] = []
  /** Whether the last operation on the file failed. */
  #failing = false
  #lost = 0
  #lostSince = 0
  #unsynced = false
  #syncing: Promise<void> | undefined
  #syncTimer: NodeJS.Timeout | undefined
  #complainedAt = Number.NEGATIVE_INFINITY
  #closed = false

  /** @param path of the file, whose last record is `head` */
  constructor(options: WriterOptions, path: string, head: ChainHead) {
    this.#options = options
    this.#current = new CurrentFile(options, path)
    this.#head = head
    this.#makeRecord = createRecordMaker(options)
  }

  get head(): ChainHead {
    return this.#head
  }

  /** Records in the queue. */
  get waiting(): number {
    return this.#queued
  }

  get writable(): boolean {
    return !this.#failing
  }

  /** @param done called when the record is on disk, or cannot be written; without it the record is not durable */
  add(event: AuditEvent, done?: Done): void {
    this.#enqueue({
      batch: { text: this.#makeRecord(event), count: 1 },
      durable: done === undefined ? 0 : 1,
      done,
    })
  }

  /** @param durable how many of the records `done` waits for; the others are counted when they are lost */
  addBatch(batch: RecordBatch, durable: number, done: Done | undefined): void {
    this.#enqueue({ batch, durable, done })
  }

  #enqueue(waiting: Waiting): void {
    const { batch, durable, done } = waiting
    const tooMany =
      this.#queued + batch.count > maxWaitingRecords ||
      this.#queuedBytes + getMemoryBytes(batch) > maxWaitingBytes
    if (this.#closed || tooMany) {
      this.countLost(batch.count - durable)
      done?.(failure('audit_unavailable', 'the audit log is closed, or too many records wait'))
      return
    }
    this.#queue.push(waiting)
    this.#queued += batch.count
    this.#queuedBytes += getMemoryBytes(batch)
    this.#pumping ??= this.#pump()
  }

  countLost(count: number): void {
    if (count === 0) return
    if (this.#lost === 0) this.#lostSince = this.#options.clock.now()
    this.#lost += count
    this.#options.metrics?.count('audit_lost_total', {}, count)
  }

  /** Resolves when everything added so far is on disk, or counted as lost. @throws when that cannot be ensured */
  async flush(): Promise<void> {
    // All writes use the one pump: two writers would assign the same number to two records.
    if (this.#lost > 0) this.#pumping ??= this.#pump()
    while (this.#pumping !== undefined) await this.#pumping
    await this.#sync()
  }

  /** Whether a record could be written now: bytes are appended and cut off again. @throws why not */
  probe(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(failure('audit_unavailable', 'the audit log is closed'))
      this.#probes.push((error) => (error === undefined ? resolve() : reject(error)))
      this.#pumping ??= this.#pump()
    })
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } catch (error) {
      this.#logFailure(error)
    } finally {
      this.#closed = true
      clearTimeout(this.#syncTimer)
      while (this.#syncing !== undefined) await this.#syncing.catch(() => {})
      this.#current.file.close()
    }
  }

  async #pump(): Promise<void> {
    // Records added in this turn share the first group.
    await new Promise<void>((resolve) => setImmediate(resolve))
    do {
      await this.#writeGroup(this.#takeGroup())
      if (this.#probes.length > 0) await this.#probeFile(this.#probes.splice(0))
    } while (this.#queue.length > 0 || this.#probes.length > 0)
    this.#pumping = undefined
  }

  async #probeFile(asked: readonly Done[]): Promise<void> {
    let refused: Error | undefined
    try {
      // Bytes of a probe must not hide that the file was cut.
      if (this.#current.file.changed() !== undefined) await this.#writeGroup([])
      const problem = this.#current.file.changed()
      if (problem !== undefined) throw new Error(`${this.#current.path}: ${problem}`)
      const sizeBefore = this.#current.file.size
      await this.#current.file.append(probeBytes)
      this.#current.file.cutTo(sizeBefore)
      // Repeats a sync that failed.
      if (this.#failing) await this.#current.file.sync()
      this.#failing = false
    } catch (cause) {
      this.#failing = true
      refused = failure('audit_unavailable', `the audit log cannot be written: ${String(cause)}`, { cause })
    }
    for (const done of asked) done(refused)
  }

  #takeGroup(): readonly Waiting[] {
    let batches = 0
    let records = 0
    for (const { batch } of this.#queue) {
      if (records >= maxGroupRecords) break
      batches += 1
      records += batch.count
      this.#queuedBytes -= getMemoryBytes(batch)
    }
    this.#queued -= records
    return this.#queue.splice(0, batches)
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    let head = this.#head
    let lines = ''
    const push = (batch: RecordBatch): void => {
      const chained = chainBatch(batch, head)
      lines += chained.lines
      head = chained.head
    }
    const pushOwn = (event: AuditEvent): void => push({ text: this.#makeRecord(event), count: 1 })
    const lost = this.#lost
    const durable = group.some((one) => one.durable > 0)
    try {
      const changed = this.#current.file.changed()
      if (changed !== undefined) pushOwn(await this.#leaveFile(changed))
      if (lost > 0) pushOwn(this.#lossEvent(lost))
      for (const { batch } of group) push(batch)
      await this.#rotateIfFull()
      const sizeBefore = this.#current.file.size
      if (lines !== '') await this.#current.file.append(Buffer.from(lines))
      if (durable) {
        try {
          await this.#current.file.sync()
        } catch (error) {
          // Refused records must not remain as if their operations had succeeded.
          this.#current.file.cutTo(sizeBefore)
          throw error
        }
        this.#unsynced = false
      } else if (lines !== '') {
        this.#unsynced = true
        this.#syncSoon()
      }
      this.#head = head
      this.#lost -= lost
      if (durable) this.#failing = false
      for (const { done } of group) done?.(undefined)
    } catch (error) {
      // No record of the group is in the file: the chain continues from the previous head.
      this.#failing = true
      this.#logFailure(error)
      for (const { batch, durable: awaited } of group) this.countLost(batch.count - awaited)
      const refused = failure('audit_unavailable', 'the audit record cannot be written', { cause: error })
      for (const { done } of group) done?.(refused)
    }
  }

  /** The full file is on disk before the next one begins: a power cut leaves no gap between them. */
  async #rotateIfFull(): Promise<void> {
    if (!this.#current.isFull()) return
    await this.#sync()
    this.#current.beginNext(this.#head.seq + 1)
  }

  /**
   * Continues the log in a new file: records in a file that another program removed, moved or cut would be lost.
   * @returns the record that states it
   */
  async #leaveFile(problem: string): Promise<AuditEvent> {
    while (this.#syncing !== undefined) await this.#syncing.catch(() => {})
    this.#unsynced = false
    const file = basename(this.#current.path)
    this.#current.beginNext(this.#head.seq + 1)
    const { clock, log, metrics } = this.#options
    metrics?.count('audit_files_changed_total')
    log.error({ file, problem }, 'another program changed the current audit file')
    return {
      ...createOwnEvent(clock.now(), 'audit.file_changed'),
      outcome: 'failure',
      status: 500,
      details: { file, problem },
    }
  }

  /** Resolves once everything appended so far is on disk. One at a time: a running sync may have begun before the last append. */
  async #sync(): Promise<void> {
    // The caller that began the sync handles its failure; this call tries again.
    while (this.#syncing !== undefined) await this.#syncing.catch(() => {})
    if (!this.#unsynced) return
    this.#syncing = this.#syncFile()
    try {
      await this.#syncing
    } finally {
      this.#syncing = undefined
    }
  }

  async #syncFile(): Promise<void> {
    this.#unsynced = false
    try {
      await this.#current.file.sync()
    } catch (error) {
      this.#unsynced = true
      throw error
    }
  }

  #syncSoon(): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined
      this.#sync().catch((error: unknown) => this.#logFailure(error))
    }, syncEveryMs)
  }

  #lossEvent(count: number): AuditEvent {
    return {
      ...createOwnEvent(this.#options.clock.now(), 'audit.lost'),
      outcome: 'failure',
      status: 503,
      details: { count, since: new Date(this.#lostSince).toISOString() },
    }
  }

  #logFailure(error: unknown): void {
    const now = this.#options.clock.monotonic()
    if (now - this.#complainedAt < logFailureEveryMs) return
    this.#complainedAt = now
    this.#options.log.error(
      { error, folder: this.#options.folder, lost: this.#lost },
      'the audit log cannot be written',
    )
  }
}

/** An event of the audit log itself. */
export function createOwnEvent(time: number, operation: string) {
  return {
    time,
    request_id: '-',
    operation,
    principal: 'warder',
    auth_method: 'none',
    client_ip: '-',
    outcome: 'success' as 'success' | 'failure',
    status: 200,
    duration_ms: 0,
  }
}
