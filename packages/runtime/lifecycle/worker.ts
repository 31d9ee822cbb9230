import { Worker } from 'node:worker_threads'
import type { Logger } from '@warder/base'
import { Pulse, watchBeats } from '@warder/base'
import type { FromWorker, TlsMaterials, ToWorker, WorkerStart } from './messages.ts'

/** A worker thread as the primary sees it. */
export interface WorkerHandle {
  readonly index: number
  /** Resolves when it serves; rejects when it could not start, and then it ends. */
  readonly listening: Promise<number>
  /** Resolves with the exit code when the thread is gone. */
  readonly gone: Promise<number>
  setTls(tls: TlsMaterials): void
  metrics(): Promise<unknown>
  /** Share of the time since the last call in which its event loop was busy, 0 to 1. */
  busy(): number
  /** Moves clients to added workers: this share of its connections ends with the next reply. */
  spread(share: number): void
  /** Stops accepting, finishes what is in flight (at most `timeoutMs`), then ends the thread. */
  drain(timeoutMs: number): Promise<void>
}

/** A worker could not start; with `startup` the message is a sentence for the terminal. */
export class WorkerStartFailed extends Error {
  readonly startup: boolean

  constructor(message: string, startup: boolean) {
    super(message)
    this.name = 'WorkerStartFailed'
    this.startup = startup
  }
}

const answerWithinMs = 2_000

/** Starts one worker thread: own event loop, own connections, the service built inside it. */
export function startWorker(start: WorkerStart, log: Logger): WorkerHandle {
  const ports = [start.audit?.port, start.writer].filter((port) => port !== undefined)
  const thread = new Worker(new URL('./worker-thread.ts', import.meta.url), {
    name: `warder-${start.index}`,
    workerData: start,
    transferList: ports,
    // Requests create short-lived objects: with a larger nursery they are collected less often.
    resourceLimits: { maxYoungGenerationSizeMb: 48 },
    stdout: false,
    stderr: false,
  })
  const questions = new Map<number, (metrics: unknown) => void>()
  let nextQuestion = 0
  let drained: (() => void) | undefined
  let unwatch = (): void => undefined
  /** Watches the thread once it listens: loading modules at the start may take longer. */
  const watch = (operations: readonly string[]): void => {
    const seconds = start.launch.config.watchdog_seconds
    if (seconds === 0) return
    const pulse = new Pulse(start.pulse)
    unwatch = watchBeats({
      limitMs: seconds * 1000,
      beats: () => pulse.beats(),
      onStalled() {
        const operation = operations[pulse.lastOperation()] ?? 'none'
        log.error(
          { worker: start.index, seconds, last_operation: operation },
          'the event loop of a worker does not respond: the worker is terminated',
        )
        void thread.terminate()
      },
    })
  }
  const gone = new Promise<number>((resolve) =>
    thread.once('exit', (code) => {
      unwatch()
      resolve(code)
    }),
  )
  const listening = new Promise<number>((resolve, reject) => {
    // Resources that were opened before the failure would keep the thread alive.
    const fail = (reason: WorkerStartFailed): void => {
      reject(reason)
      void thread.terminate()
    }
    thread.on('message', (message: FromWorker) => {
      if (message.type === 'listening') {
        watch(message.operations)
        resolve(message.port)
      } else if (message.type === 'failed') fail(new WorkerStartFailed(message.message, message.startup))
      else if (message.type === 'drained') drained?.()
      else questions.get(message.id)?.(message.metrics)
    })
    thread.once('error', (error) => {
      log.error({ worker: start.index, error }, 'a worker thread failed')
      reject(error)
    })
    thread.once('exit', (code) => reject(new Error(`the worker thread ended with code ${code}`)))
  })
  listening.catch(() => undefined)
  const post = (message: ToWorker): void => thread.postMessage(message)
  let before = thread.performance.eventLoopUtilization()
  return {
    index: start.index,
    listening,
    gone,
    setTls: (tls) => post({ type: 'tls', tls }),
    busy() {
      const now = thread.performance.eventLoopUtilization()
      const { utilization } = thread.performance.eventLoopUtilization(now, before)
      before = now
      return utilization
    },
    spread: (share) => post({ type: 'spread', share }),
    metrics: () =>
      new Promise((resolve) => {
        const id = nextQuestion++
        const timer = setTimeout(() => answer(undefined), answerWithinMs)
        const answer = (metrics: unknown): void => {
          clearTimeout(timer)
          questions.delete(id)
          resolve(metrics)
        }
        questions.set(id, answer)
        post({ type: 'metrics', id })
      }),
    async drain(timeoutMs) {
      const answered = new Promise<void>((resolve) => {
        drained = resolve
      })
      post({ type: 'drain', timeoutMs })
      const late = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs + answerWithinMs).unref())
      await Promise.race([answered, gone, late])
      await thread.terminate()
    },
  }
}
