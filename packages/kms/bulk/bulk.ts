import { Worker } from 'node:worker_threads'
import { failure } from '@warder/foundation/errors'
import type { FailedJob, FromThread, Job, Results } from './jobs.ts'

/** Bodies from this size on are read, sealed and opened on the thread: below it the way there costs more than the work. */
export const bulkBytes = 256 * 1024
/** Data of all jobs that wait for the thread or are on it. A single job may have more. */
const maxBytes = 256 * 1024 * 1024
/** An idle thread ends, and gives its memory back. */
const idleMs = 5_000
/** After so much data the garbage that it left in the event loop is worth a collection: 10 to 30 ms while nothing large is done. */
const collectAfterBytes = 32 * 1024 * 1024

interface Bounds {
  readonly maxBytes?: number
  readonly idleMs?: number
  /** Another thread than `bulk-thread.ts`, for tests. */
  readonly thread?: URL
  /** Collects the garbage of this event loop. */
  readonly collect?: () => void
}

interface Waiting {
  readonly bytes: number
  resolve(result: never): void
  reject(reason: unknown): void
}

/**
 * One thread for large data, started by its first job. Jobs are done in their order; the data of a job is transferred
 * and must not be used again.
 */
export class BulkThread {
  readonly #waiting = new Map<number, Waiting>()
  readonly #maxBytes: number
  readonly #idleMs: number
  readonly #thread: URL
  readonly #collect: () => void
  #sinceCollection = 0
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #bytes = 0
  #lastId = 0

  constructor(bounds: Bounds = {}) {
    this.#maxBytes = bounds.maxBytes ?? maxBytes
    this.#idleMs = bounds.idleMs ?? idleMs
    this.#thread = bounds.thread ?? new URL('./bulk-thread.ts', import.meta.url)
    this.#collect = bounds.collect ?? collectGarbage
  }

  /** Whether the thread runs. */
  get running(): boolean {
    return this.#worker !== undefined
  }

  /**
   * @throws failure('overloaded') when too much waits already
   */
  run<Type extends Job['type']>(job: Extract<Job, { type: Type }>, data: Uint8Array): Promise<Results[Type]> {
    const bytes = data.byteLength
    if (this.#waiting.size > 0 && this.#bytes + bytes > this.#maxBytes)
      throw failure('overloaded', 'too much large data waits for its thread', { retryAfterSeconds: 1 })
    clearTimeout(this.#idle)
    const worker = this.#started()
    const id = ++this.#lastId
    return new Promise<Results[Type]>((resolve, reject) => {
      worker.postMessage({ id, job }, [data.buffer as ArrayBuffer])
      this.#waiting.set(id, { bytes, resolve, reject })
      this.#bytes += bytes
      this.#sinceCollection += bytes
    })
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(this.#thread, { name: 'bulk' })
    worker.unref()
    worker.on('message', (message: FromThread) => this.#answered(message))
    worker.on('error', (error: unknown) => this.#lost(worker, error))
    worker.on('exit', () => this.#lost(worker, new Error('the thread of large data ended')))
    this.#worker = worker
    return worker
  }

  #answered(message: FromThread): void {
    const waiting = this.#waiting.get(message.id)
    if (waiting === undefined) return
    this.#waiting.delete(message.id)
    this.#bytes -= waiting.bytes
    if ('failed' in message) waiting.reject(failureOf(message.failed))
    else waiting.resolve(message.result as never)
    if (this.#waiting.size > 0) return
    this.#idle = setTimeout(() => this.#end(), this.#idleMs)
    this.#idle.unref()
  }

  #end(): void {
    const worker = this.#worker
    this.#worker = undefined
    void worker?.terminate()
    if (this.#sinceCollection < collectAfterBytes) return
    this.#sinceCollection = 0
    this.#collect()
  }

  /** Jobs of a thread that broke fail; the next job starts another one. */
  #lost(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#bytes = 0
    for (const { reject } of lost) reject(cause)
  }
}

/**
 * What large replies leave behind (TLS buffers, as far as was seen) is freed by the garbage collector, which hardly counts
 * it: an idle event loop would keep it for hours. `warder start` gives the services `--expose-gc`; without it that memory
 * stays until the next collection.
 */
function collectGarbage(): void {
  void globalThis.gc?.({ type: 'major', execution: 'async' })
}

function failureOf({ kind, message, detail }: FailedJob): Error {
  // For kinds with a fixed sentence what is given here is the detail.
  const fixed = failure(kind).message === message
  return failure(kind, fixed ? detail : message, detail === undefined ? {} : { detail })
}

/** Of this worker of the service. */
export const bulkThread = new BulkThread()
