import { Worker } from 'node:worker_threads'
import { type ErrorKind, failure } from '@warder/base'

/** After so much data the garbage that it left in the event loop is worth a collection: 10 to 30 ms while nothing large is done. */
const collectAfterBytes = 32 * 1024 * 1024

export interface FailedJob {
  readonly kind: ErrorKind
  readonly message: string
  readonly detail: string | undefined
  /** Further code from the thread, for callers who know it. */
  readonly code?: string
  /** Index of the item of the data that failed. */
  readonly item?: number | undefined
}

type FromThread =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failed: FailedJob }

export interface ThreadBounds {
  /** Data of all jobs that wait for the thread or are on it. A single job may have more. */
  readonly maxBytes: number
  /** An idle thread ends, which releases its memory. */
  readonly idleMs: number
  readonly thread: URL
  /** Collects the garbage of this event loop. */
  readonly collect?: () => void
}

interface Waiting {
  readonly bytes: number
  resolve(result: never): void
  reject(reason: unknown): void
}

/** One thread for work that is too long for the event loop, started by its first job. Jobs are done in their order. */
export class JobThread<
  Job extends { readonly type: string },
  Results extends { [Type in Job['type']]: unknown },
> {
  readonly #name: string
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

  /** @param name of the work, for errors and for the thread: `large data` */
  constructor(name: string, bounds: ThreadBounds) {
    this.#name = name
    this.#maxBytes = bounds.maxBytes
    this.#idleMs = bounds.idleMs
    this.#thread = bounds.thread
    this.#collect = bounds.collect ?? collectGarbage
  }

  /** Whether the thread runs. */
  get running(): boolean {
    return this.#worker !== undefined
  }

  /** Jobs that wait for the thread or are on it. */
  get unfinished(): number {
    return this.#waiting.size
  }

  /**
   * @param bytes of data in the job
   * @param transferred buffers that the sender cannot use any more; all others are copied
   * @throws failure('overloaded') when the queue is full
   */
  protected send<Type extends Job['type']>(
    job: Extract<Job, { type: Type }>,
    bytes: number,
    transferred: readonly ArrayBuffer[],
  ): Promise<Results[Type]> {
    if (this.#waiting.size > 0 && this.#bytes + bytes > this.#maxBytes)
      throw failure('overloaded', `the queue of the thread for ${this.#name} is full`, {
        retryAfterSeconds: 1,
      })
    clearTimeout(this.#idle)
    const worker = this.#started()
    worker.ref()
    const id = ++this.#lastId
    return new Promise<Results[Type]>((resolve, reject) => {
      worker.postMessage({ id, job }, transferred)
      this.#waiting.set(id, { bytes, resolve, reject })
      this.#bytes += bytes
      this.#sinceCollection += bytes
    })
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(this.#thread, { name: this.#name })
    worker.on('message', (message: FromThread) => this.#answered(message))
    worker.on('error', (error: unknown) => this.#lost(worker, error))
    worker.on('exit', () => this.#lost(worker, new Error(`the thread for ${this.#name} has ended`)))
    this.#worker = worker
    return worker
  }

  #answered(message: FromThread): void {
    const waiting = this.#waiting.get(message.id)
    if (waiting === undefined) return
    this.#waiting.delete(message.id)
    this.#bytes -= waiting.bytes
    if ('failed' in message) waiting.reject(this.errorOf(message.failed))
    else waiting.resolve(message.result as never)
    if (this.#waiting.size > 0) return
    // An idle thread must not keep the process alive. Adding a listener later would undo this.
    this.#worker?.unref()
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

  /** Error with which a failed job rejects. */
  protected errorOf({ kind, message, detail }: FailedJob): Error {
    // For kinds with a fixed message this text is the detail.
    const fixed = failure(kind).message === message
    return failure(kind, fixed ? detail : message, detail === undefined ? {} : { detail })
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
 * Memory left by large replies (TLS buffers, as far as was seen) is freed by the garbage collector, which hardly counts
 * it: an idle event loop would not release it for hours. `warder start` starts the services with `--expose-gc`; without
 * it that memory stays until the next collection.
 */
function collectGarbage(): void {
  void globalThis.gc?.({ type: 'major', execution: 'async' })
}
