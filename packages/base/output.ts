import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/**
 * Writes synchronously.
 * @returns number of bytes that were taken
 * @throws when nothing is taken now: a pipe or terminal is full, a disk is full, the reader has ended
 */
export type OutputSink = (bytes: Uint8Array) => number

export interface OutputOptions {
  /** Line with the number of lost lines, written when output works again. */
  readonly formatLostLine: (lines: number) => string
  /** Called for each line that is lost. */
  readonly onLost?: () => void
}

/** Lines beyond these bytes are lost. */
export const maxWaitingBytes = 1024 * 1024
const firstRetryMs = 20
const lastRetryMs = 1000
/** A process that ends waits so long for a reader. */
const lastWaitMs = 200
const pauseMs = 10

/**
 * Writes lines without ever blocking the thread: not on an unread pipe, a terminal stopped by Ctrl-S, a full disk, or a
 * reader that has ended, with which `process.stderr` would block, fill the memory or end the process. Unwritten lines
 * wait within bounds, and are lost beyond them.
 */
export class Output {
  readonly #sink: OutputSink
  readonly #options: OutputOptions
  readonly #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #lost = 0
  #retryMs = firstRetryMs
  #timer: NodeJS.Timeout | undefined

  constructor(sink: OutputSink, options: OutputOptions) {
    this.#sink = sink
    this.#options = options
    process.once('exit', () => this.#flushAtExit())
  }

  /** @param line with its line break */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#lost += 1
      this.#options.onLost?.()
      return
    }
    this.#append(bytes)
    if (this.#timer === undefined) this.#drainOrRetry()
  }

  #append(bytes: Uint8Array): void {
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
  }

  /** @returns false: lines wait */
  #drain(): boolean {
    for (let line = this.#waiting[0]; line !== undefined; line = this.#waiting[0]) {
      let taken: number
      try {
        taken = this.#sink(line)
      } catch {
        return false
      }
      this.#retryMs = firstRetryMs
      this.#waitingBytes -= taken
      if (taken < line.length) this.#waiting[0] = line.subarray(taken)
      else this.#waiting.shift()
      if (this.#waiting.length === 0) this.#reportLost()
    }
    return true
  }

  #reportLost(): void {
    if (this.#lost === 0) return
    const line = this.#options.formatLostLine(this.#lost)
    this.#lost = 0
    this.#append(Buffer.from(line))
  }

  #drainOrRetry(): void {
    this.#timer = undefined
    if (this.#drain()) return
    this.#timer = setTimeout(() => this.#drainOrRetry(), this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, lastRetryMs)
  }

  #flushAtExit(): void {
    const clock = new Int32Array(new SharedArrayBuffer(4))
    for (let waited = 0; !this.#drain() && waited < lastWaitMs; waited += pauseMs)
      Atomics.wait(clock, 0, 0, pauseMs)
  }
}

/**
 * Sink of standard output (1) or standard error (2). Not to wait needs `O_NONBLOCK`, which belongs to the open file, and that
 * the shell and other processes share: so a pipe or a terminal is opened again. A socket cannot be (journald's is one), nor
 * can what is another user's, nor anything if there is no /proc: these are written to as they are.
 */
export function standardSink(descriptor: 1 | 2): OutputSink {
  const own = openAgain(descriptor)
  return (bytes) => writeSync(own, bytes)
}

function openAgain(descriptor: 1 | 2): number {
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFIFO() && !stat.isCharacterDevice()) return descriptor
    return openSync(
      `/proc/self/fd/${descriptor}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    )
  } catch {
    return descriptor
  }
}
