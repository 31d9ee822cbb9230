import { Worker } from 'node:worker_threads'
import { failure } from '@warder/base'
import type { LogKeys } from '../encrypted-bytes.ts'
import type { VerifyResult } from '../verify.ts'
import type { IndexedLog, IndexRound } from './indexer.ts'
import type { CountPage, CountRequest, SearchPage, SearchRequest } from './search.ts'

/** Plain data and keys: they stay inside this process. */
export type AuditJob =
  | { readonly type: 'index'; readonly log: IndexedLog }
  | { readonly type: 'search'; readonly request: SearchRequest }
  | { readonly type: 'count'; readonly request: CountRequest }
  | { readonly type: 'verify'; readonly folder: string; readonly keys: LogKeys }

interface Results {
  readonly index: IndexRound
  readonly search: SearchPage
  readonly count: CountPage
  readonly verify: VerifyResult
}

export interface ToThread {
  readonly id: number
  readonly job: AuditJob
}

export type FromThread =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }

interface Waiting {
  resolve(result: never): void
  reject(error: Error): void
}

/** Jobs that may wait for the thread; more are refused. */
const maxWaiting = 64
/** An idle thread ends after this time. */
const idleMs = 60_000

/** Runs jobs on a thread, which starts with the first one and ends when there is none for a while. */
export class AuditThread {
  #thread: Worker | undefined
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1
  #idle: NodeJS.Timeout | undefined

  /** @throws failure('overloaded') */
  run<Job extends AuditJob>(job: Job): Promise<Results[Job['type']]> {
    if (this.#waiting.size >= maxWaiting)
      return Promise.reject(
        failure('overloaded', 'too many searches of the audit log wait', { retryAfterSeconds: 1 }),
      )
    clearTimeout(this.#idle)
    this.#thread ??= this.#start()
    const thread = this.#thread
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      thread.postMessage({ id, job } satisfies ToThread)
    })
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#thread?.terminate()
  }

  #start(): Worker {
    const thread = new Worker(new URL('./thread.ts', import.meta.url), { name: 'audit search' })
    thread.unref()
    thread.on('message', (answer: FromThread) => {
      const waiting = this.#waiting.get(answer.id)
      this.#waiting.delete(answer.id)
      if ('error' in answer) waiting?.reject(new Error(answer.error))
      else waiting?.resolve(answer.result as never)
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.stop(), idleMs).unref()
    })
    const end = (error: Error): void => {
      if (this.#thread === thread) this.#thread = undefined
      for (const waiting of this.#waiting.values()) waiting.reject(error)
      this.#waiting.clear()
    }
    thread.once('error', end)
    thread.once('exit', () => end(new Error('the thread that searches the audit log has ended')))
    return thread
  }
}
