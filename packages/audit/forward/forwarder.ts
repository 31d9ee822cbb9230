import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Clock, Logger, Metrics } from '@warder/base'
import type { LogKeys } from '../encrypted-bytes.ts'
import { LogReader, type ReadRecord } from '../reader.ts'
import { listSegmentNumbers, replaceFile } from '../segments.ts'
import type { AuditEvent } from '../types.ts'
import { createOwnEvent } from '../writer.ts'

/** The last record that a target has, and its log: a log that replaces another also begins with 1. */
interface Position {
  /** Number of the last record that it has. */
  readonly seq: number
  /** Number of the first record of the file that this one is in, and that record's hash. */
  readonly file: number
  readonly hash: string
}

const startPosition: Position = { seq: 0, file: 0, hash: '' }

/** Reads a position file; an unreadable one means: send everything again from the beginning. */
function readPosition(path: string): Position {
  try {
    const { seq, file, hash } = JSON.parse(
      existsSync(path) ? readFileSync(path, 'utf8') : '{}',
    ) as Partial<Position>
    if (isNumber(seq) && isNumber(file) && typeof hash === 'string') return { seq, file, hash }
  } catch {
    return startPosition
  }
  return startPosition
}

/** The same position, with its current file. */
async function findPosition(folder: string, position: Position, keys: LogKeys): Promise<Position> {
  const file = listSegmentNumbers(folder).findLast((firstSeq) => firstSeq <= position.seq)
  if (file === undefined || file === position.file) return position
  return { ...position, file, hash: (await readHash(folder, file, keys)) ?? '' }
}

/** Whether the position is in this log. For a removed file only its number is compared. */
async function isInLog(folder: string, { file, hash }: Position, keys: LogKeys): Promise<boolean> {
  if (file > (listSegmentNumbers(folder).at(-1) ?? 0)) return false
  const first = await readHash(folder, file, keys)
  return first === undefined || hash === '' || first === hash
}

/** Of the record with this number, if it is still there. */
async function readHash(folder: string, seq: number, keys: LogKeys): Promise<string | undefined> {
  const [record] = await new LogReader(folder, seq - 1, keys).next(1, 1)
  return record?.seq === seq ? record.line.slice(-hashLength - 2, -2) : undefined
}

/** Hexadecimal SHA-256, which a line ends with, before `"}`. */
const hashLength = 64

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

export interface ForwarderOptions {
  /** The log's. */
  readonly folder: string
  readonly target: ForwardTarget
  /** Of encrypted files. */
  readonly keys: LogKeys
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Number of the last record that was written. */
  head(): number
  record(event: AuditEvent): void
  /** For tests. */
  readonly pollMs?: number
  readonly firstRetryMs?: number
}

const maxRecords = 500
const maxLength = 1_048_576
const defaultPollMs = 500
const defaultRetryMs = 1000
const maxRetryMs = 60_000
const saveEveryMs = 1000

/**
 * Sends the records of a log to a target, in order, beginning with the oldest one. The log itself is the queue: nothing is
 * stored besides it, and an unreachable target delays no request.
 */
export function startForwarder(options: ForwarderOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const work = new Forwarding(options, stopping.signal)
  const done = work.run()
  return {
    async stop() {
      stopping.abort()
      await done
      options.target.close()
    },
  }
}

class Forwarding {
  readonly #options: ForwarderOptions
  readonly #stop: AbortSignal
  readonly #path: string
  #position: Position
  #savedAt = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(options: ForwarderOptions, stop: AbortSignal) {
    const { target, folder, metrics, head } = options
    this.#options = options
    this.#stop = stop
    this.#path = join(folder, `forwarded-${target.name}.json`)
    this.#position = readPosition(this.#path)
    metrics.gauge(
      `audit_forward_waiting_${target.name}`,
      `Records that are not yet sent to the ${target.name}.`,
      () => Math.max(0, head() - this.#position.seq),
    )
  }

  async run(): Promise<void> {
    const { log, target } = this.#options
    while (!this.#stop.aborted) {
      try {
        await this.#forward(await this.#reader())
      } catch (error) {
        log.error(
          { error, target: target.name },
          'the audit log cannot be read for forwarding; the read will be repeated',
        )
        await this.#pause(maxRetryMs)
      }
    }
  }

  /** Starts after the target's last record, or at the beginning when another log replaced that one. */
  async #reader(): Promise<LogReader> {
    const { folder, head, keys } = this.#options
    if (!(await isInLog(folder, this.#position, keys))) this.#position = startPosition
    // Records that were sent and then lost with the power are not sent again.
    return new LogReader(folder, Math.min(this.#position.seq, head()), keys)
  }

  async #forward(reader: LogReader): Promise<void> {
    const { pollMs = defaultPollMs } = this.#options
    while (!this.#stop.aborted) {
      const records = await reader.next(maxRecords, maxLength)
      this.#reportMissed(reader.takeMissed())
      if (records.length === 0) await this.#pause(pollMs)
      else if (await this.#deliver(records)) await this.#advance(records)
    }
    await this.#save()
  }

  /** Retries until the target accepts them. @returns false when stopped before */
  async #deliver(records: readonly ReadRecord[]): Promise<boolean> {
    const { target, log, metrics, firstRetryMs = defaultRetryMs } = this.#options
    while (!this.#stop.aborted) {
      try {
        await target.send(records)
        if (this.#failures > 0) log.info({ target: target.name }, 'the target accepts audit records again')
        this.#failures = 0
        return true
      } catch (error) {
        metrics.count('audit_forward_failures_total', { target: target.name })
        if (this.#failures === 0)
          log.warn(
            { error, target: target.name },
            'the target does not accept audit records; they wait in the log',
          )
        await this.#pause(Math.min(maxRetryMs, firstRetryMs * 2 ** this.#failures))
        this.#failures = Math.min(this.#failures + 1, 16)
      }
    }
    return false
  }

  async #advance(records: readonly ReadRecord[]): Promise<void> {
    this.#position = { ...this.#position, seq: records.at(-1)?.seq ?? this.#position.seq }
    if (this.#options.clock.monotonic() - this.#savedAt >= saveEveryMs) await this.#save()
  }

  async #save(): Promise<void> {
    this.#savedAt = this.#options.clock.monotonic()
    const { folder, keys } = this.#options
    this.#position = await findPosition(folder, this.#position, keys)
    if (this.#position.seq > 0) replaceFile(this.#path, `${JSON.stringify(this.#position)}\n`)
  }

  #reportMissed(count: number): void {
    if (count === 0) return
    const { target, log, clock, record } = this.#options
    log.error(
      { target: target.name, count },
      'audit records were pruned or became unreadable before they were sent',
    )
    const details = { target: target.name, count }
    record({
      ...createOwnEvent(clock.now(), 'audit.forward_missed'),
      outcome: 'failure',
      status: 500,
      details,
    })
  }

  async #pause(ms: number): Promise<void> {
    await setTimeout(ms, undefined, { signal: this.#stop }).catch(() => undefined)
  }
}

/** An external system that stores the records. */
export interface ForwardTarget {
  /** Used in the name of the position file, in metrics and in log lines. */
  readonly name: 'syslog' | 'collector'
  /**
   * Resolves when all records were accepted, as far as the protocol acknowledges them.
   * @throws when some of them were not: all are sent again
   */
  send(records: readonly ReadRecord[]): Promise<void>
  close(): void
}
