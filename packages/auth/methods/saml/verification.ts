import { Worker } from 'node:worker_threads'
import { createFairQueue, type QueueOwner } from '@warder/runtime'
import type { Assertion } from './assertion.ts'
import { type ExpectedOnce, type SamlCheck, SamlRefused } from './checks.ts'

/**
 * A response to validate. `field` is the value of the form field as it was sent, percent-encoded; it is transferred
 * to the thread.
 */
export interface Job {
  readonly field: Uint8Array<ArrayBuffer>
  readonly expected: ExpectedOnce
}

export type ValidationResult =
  | { readonly assertion: Assertion }
  | { readonly refused: { readonly check: SamlCheck; readonly sentence: string } }

export interface ToThread {
  readonly id: number
  readonly job: Job
}
/** Without result: the thread failed unexpectedly. */
export interface FromThread {
  readonly id: number
  readonly result?: ValidationResult
  readonly problem?: string
}

/** Maximum length of the queue of the thread; further messages get an error that asks to retry. */
const maxQueueLength = 64
/** The gate limits the work to some 100 ms; a job that takes longer is terminated with its thread. */
const maxJobMs = 5000
/** An idle thread ends and releases its memory. */
const idleMs = 60_000

/** Validates responses outside of the event loop, so that untrusted input does not delay other requests. */
export interface Verification {
  /**
   * @param owner of the job, for a fair order of the queue
   * @throws failure('overloaded'); SamlRefused when it takes too long
   */
  validate(owner: QueueOwner, job: Job): Promise<ValidationResult>
  /** Responses that wait for the thread or are being validated. */
  readonly unfinished: number
  close(): void
}

interface VerificationBounds {
  readonly maxJobMs?: number
  readonly idleMs?: number
  /** Another thread, for tests. */
  readonly thread?: URL
}

export function createVerification(bounds: VerificationBounds = {}): Verification {
  const queue = createFairQueue(1, maxQueueLength)
  const thread = new VerificationThread(bounds)
  return {
    get unfinished() {
      return queue.unfinished
    },
    validate: (owner, job) => queue.run(owner, () => thread.run(job)),
    close: () => thread.end(),
  }
}

/** Runs one job at a time, so that the thread can be terminated without affecting others. */
class VerificationThread {
  readonly #bounds: VerificationBounds
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0

  constructor(bounds: VerificationBounds) {
    this.#bounds = bounds
  }

  async run(job: Job): Promise<ValidationResult> {
    clearTimeout(this.#idle)
    const worker = this.#started()
    const message: ToThread = { id: ++this.#lastId, job }
    try {
      return await this.#answer(worker, message)
    } finally {
      this.#idle = setTimeout(() => this.end(), this.#bounds.idleMs ?? idleMs)
      this.#idle.unref()
    }
  }

  end(): void {
    clearTimeout(this.#idle)
    const worker = this.#worker
    this.#worker = undefined
    void worker?.terminate()
  }

  #answer(worker: Worker, message: ToThread): Promise<ValidationResult> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(deadline)
        worker.removeAllListeners('message').removeAllListeners('error').removeAllListeners('exit')
        worker.on('error', () => this.end())
      }
      const fail = (error: Error): void => {
        done()
        this.end()
        reject(error)
      }
      const deadline = setTimeout(
        () => fail(new SamlRefused('xml', 'rejected SAML response: the verification timed out')),
        this.#bounds.maxJobMs ?? maxJobMs,
      )
      worker.on('message', ({ id, result, problem }: FromThread) => {
        if (id !== message.id) return
        done()
        if (result === undefined) reject(new Error(`the SAML thread failed: ${problem}`))
        else resolve(result)
      })
      worker.on('error', fail)
      worker.on('exit', () => fail(new Error('the SAML thread ended')))
      worker.postMessage(message, [message.job.field.buffer])
    })
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(this.#bounds.thread ?? new URL('./verification-thread.ts', import.meta.url), {
      name: 'saml',
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    worker.unref()
    this.#worker = worker
    return worker
  }
}
