import { failure } from '../errors/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger, Metrics } from '../telemetry/types.ts'
import type { LogFile, OpenLogFile } from './files.ts'
import { logFileName, syncFolder } from './folder.ts'
import { chainRecord, type PreparedRecord, prepareRecord } from './record.ts'
import type { AuditFailureMode } from './types.ts'
import type { ChainHead } from './verify.ts'

export interface WriterOptions {
  readonly folder: string
  readonly service: string
  readonly node: string
  readonly mode: AuditFailureMode
  readonly rotateBytes: number
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics | undefined
  readonly openFile: OpenLogFile
}

interface Waiting {
  readonly record: PreparedRecord
  readonly done: ((error: Error | undefined) => void) | undefined
}

/** `continue`: records of at most this time are lost in a power cut. */
const syncEveryMs = 50
const largestGroup = 4096
/** Records that may wait while the disk is slow; more are counted as lost (continue) or refused (reject). */
const mostWaiting = 200_000
const complainEveryMs = 10_000

/** The one writer of a chain: groups what waits, one append (and one fsync) a group. */
export class AuditWriter {
  readonly #options: WriterOptions
  readonly #fixed: { readonly node: string; readonly service: string }
  #head: ChainHead
  #file: LogFile
  #queue: Waiting[] = []
  #pumping: Promise<void> | undefined
  #lost = 0
  #lostSince = 0
  #unsynced = false
  #syncTimer: NodeJS.Timeout | undefined
  #complainedAt = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(options: WriterOptions, file: LogFile, head: ChainHead) {
    this.#options = options
    this.#file = file
    this.#head = head
    this.#fixed = { node: JSON.stringify(options.node), service: JSON.stringify(options.service) }
  }

  get head(): ChainHead {
    return this.#head
  }

  add(record: PreparedRecord, done?: (error: Error | undefined) => void): void {
    if (this.#closed || this.#queue.length >= mostWaiting) {
      if (done === undefined) this.lose(1)
      else done(failure('audit_unavailable', 'the audit log is closed, or too many records wait'))
      return
    }
    this.#queue.push({ record, done })
    this.#pumping ??= this.#pump()
  }

  lose(count: number): void {
    if (count === 0) return
    if (this.#lost === 0) this.#lostSince = this.#options.clock.now()
    this.#lost += count
    this.#options.metrics?.count('audit_lost_total', {}, count)
  }

  /** Everything added so far is on disk, or counted as lost. @throws when it cannot be made sure of */
  async flush(): Promise<void> {
    // Every write goes through the one pump, this one too: two writers would give two records one place.
    if (this.#lost > 0) this.#pumping ??= this.#pump()
    while (this.#pumping !== undefined) await this.#pumping
    await this.#sync()
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } catch (error) {
      this.#complain(error)
    } finally {
      this.#closed = true
      clearTimeout(this.#syncTimer)
      this.#file.close()
    }
  }

  async #pump(): Promise<void> {
    // What is added in this turn shares the first group.
    await new Promise<void>((resolve) => setImmediate(resolve))
    do {
      await this.#writeGroup(this.#queue.splice(0, largestGroup))
    } while (this.#queue.length > 0)
    this.#pumping = undefined
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    let head = this.#head
    const lines: string[] = []
    const push = (record: PreparedRecord): void => {
      const { line, hash } = chainRecord(record, { seq: head.seq + 1, prev: head.hash }, this.#fixed)
      lines.push(line)
      head = { seq: head.seq + 1, hash }
    }
    const lost = this.#lost
    if (lost > 0) push(this.#lostRecord(lost))
    for (const { record } of group) push(record)
    const durable = group.some(({ done }) => done !== undefined)
    try {
      await this.#rotateIfFull()
      const sizeBefore = this.#file.size
      if (lines.length > 0) await this.#file.append(Buffer.from(lines.join('')))
      if (durable) {
        try {
          await this.#file.sync()
        } catch (error) {
          // Refused records must not stay as if they had been done.
          this.#file.cutTo(sizeBefore)
          throw error
        }
        this.#unsynced = false
      } else if (lines.length > 0) {
        this.#unsynced = true
        this.#syncSoon()
      }
      this.#head = head
      this.#lost -= lost
      for (const { done } of group) done?.(undefined)
    } catch (error) {
      // Nothing of the group is in the file: the chain goes on from the head there was.
      this.#complain(error)
      this.lose(group.filter(({ done }) => done === undefined).length)
      const refused = failure('audit_unavailable', 'the audit record cannot be written', { cause: error })
      for (const { done } of group) done?.(refused)
    }
  }

  /** The full file is on disk before the next one begins: a power cut leaves no gap between them. */
  async #rotateIfFull(): Promise<void> {
    if (this.#file.size < this.#options.rotateBytes) return
    await this.#sync()
    const next = this.#options.openFile(logFileName(this.#options.folder, this.#head.seq + 1))
    this.#file.close()
    this.#file = next
    syncFolder(this.#options.folder)
  }

  async #sync(): Promise<void> {
    if (!this.#unsynced) return
    this.#unsynced = false
    try {
      await this.#file.sync()
    } catch (error) {
      this.#unsynced = true
      throw error
    }
  }

  #syncSoon(): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined
      this.#sync().catch((error: unknown) => this.#complain(error))
    }, syncEveryMs)
  }

  #lostRecord(count: number): PreparedRecord {
    return prepareRecord({
      ...ownEvent(this.#options.clock.now(), 'audit.lost'),
      outcome: 'failure',
      status: 503,
      details: { count, since: new Date(this.#lostSince).toISOString() },
    })
  }

  #complain(error: unknown): void {
    const now = this.#options.clock.monotonic()
    if (now - this.#complainedAt < complainEveryMs) return
    this.#complainedAt = now
    this.#options.log.error(
      { error, folder: this.#options.folder, lost: this.#lost },
      'the audit log cannot be written',
    )
  }
}

/** A record that the log writes about itself. */
export function ownEvent(time: number, operation: string) {
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
