import type { EventLoopUtilization } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type Logger, Pulse, watchBeats } from '@warder/base'
import type { FromWorker, TlsMaterials, ToWorker, WorkerStart } from './messages.ts'

/** A worker thread, for the primary. */
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
  /** Stops accepting, finishes running requests (at most `timeoutMs`), then ends the thread. */
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
  return new WorkerThread(start, log)
}

class WorkerThread implements WorkerHandle {
  readonly index: number
  readonly listening: Promise<number>
  readonly gone: Promise<number>
  readonly #start: WorkerStart
  readonly #log: Logger
  readonly #thread: Worker
  readonly #questions = new Map<number, (metrics: unknown) => void>()
  #nextQuestion = 0
  #before: EventLoopUtilization
  readonly #drained = Promise.withResolvers<void>()
  #unwatch = (): void => undefined

  constructor(start: WorkerStart, log: Logger) {
    this.index = start.index
    this.#start = start
    this.#log = log
    this.#thread = createThread(start)
    this.gone = new Promise((resolve) =>
      this.#thread.once('exit', (code) => {
        this.#unwatch()
        resolve(code)
      }),
    )
    this.listening = new Promise((resolve, reject) => this.#receive(resolve, reject))
    this.listening.catch(() => undefined)
    this.#before = this.#thread.performance.eventLoopUtilization()
  }

  setTls(tls: TlsMaterials): void {
    this.#post({ type: 'tls', tls })
  }

  busy(): number {
    const { performance } = this.#thread
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#before)
    this.#before = now
    return utilization
  }

  spread(share: number): void {
    this.#post({ type: 'spread', share })
  }

  metrics(): Promise<unknown> {
    return new Promise((resolve) => {
      const id = this.#nextQuestion++
      const timer = setTimeout(() => answer(undefined), answerWithinMs)
      const answer = (metrics: unknown): void => {
        clearTimeout(timer)
        this.#questions.delete(id)
        resolve(metrics)
      }
      this.#questions.set(id, answer)
      this.#post({ type: 'metrics', id })
    })
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#post({ type: 'drain', timeoutMs })
    const late = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs + answerWithinMs).unref())
    await Promise.race([this.#drained.promise, this.gone, late])
    await this.#thread.terminate()
  }

  /** Receives the messages of the thread. @param resolve with its port, when it listens */
  #receive(resolve: (port: number) => void, reject: (reason: unknown) => void): void {
    const thread = this.#thread
    thread.on('message', (message: FromWorker) => {
      if (message.type === 'listening') {
        this.#watch(message.operations)
        resolve(message.port)
      } else if (message.type === 'failed') {
        reject(new WorkerStartFailed(message.message, message.startup))
        // Resources that were opened before the failure would keep the thread alive.
        void thread.terminate()
      } else if (message.type === 'drained') this.#drained.resolve()
      else this.#questions.get(message.id)?.(message.metrics)
    })
    thread.once('error', (error) => {
      this.#log.error({ worker: this.index, error }, 'a worker thread failed')
      reject(error)
    })
    thread.once('exit', (code) => reject(new Error(`the worker thread ended with code ${code}`)))
  }

  /** Watches the thread once it listens: loading modules at the start may take longer. */
  #watch(operations: readonly string[]): void {
    const seconds = this.#start.launch.config.watchdog_seconds
    if (seconds === 0) return
    const pulse = new Pulse(this.#start.pulse)
    this.#unwatch = watchBeats({
      limitMs: seconds * 1000,
      beats: () => pulse.beats(),
      onStalled: () => {
        const operation = operations[pulse.lastOperation()] ?? 'none'
        this.#log.error(
          { worker: this.index, seconds, last_operation: operation },
          'the event loop of a worker does not respond: the worker is terminated',
        )
        void this.#thread.terminate()
      },
    })
  }

  #post(message: ToWorker): void {
    this.#thread.postMessage(message)
  }
}

function createThread(start: WorkerStart): Worker {
  return new Worker(new URL('./worker-thread.ts', import.meta.url), {
    name: `warder-${start.index}`,
    workerData: start,
    transferList: [start.audit?.port, start.writer, start.shared].filter((port) => port !== undefined),
    // Requests create short-lived objects: with a larger nursery they are collected less often.
    resourceLimits: { maxYoungGenerationSizeMb: 48 },
    stdout: false,
    stderr: false,
  })
}

/** More restarts within a minute are a fault that restarting does not repair. */
const maxRestartsPerMinute = 5
/** Failed starts of one worker in a row: a resource that workers wait for (a database) is unreachable for too long. */
const maxFailedStarts = 5
/** From a failed start to the next; twice as long after each further one: 15 s in all. */
const firstWaitMs = 1_000

/** The workers of one service: workers that end are replaced, and their number can grow. */
export interface WorkerPool {
  size(): number
  /** Share of the time since the last call in which the event loop of the busiest worker was busy, 0 to 1. */
  busy(): number
  /**
   * Starts another worker, and moves connections to it. @throws the error of a worker that could not start
   */
  scaleUp(): Promise<void>
  setTls(tls: TlsMaterials): void
  metrics(): Promise<readonly unknown[]>
  drain(timeoutMs: number): Promise<void>
}

export interface WorkerPoolOptions {
  readonly size: number
  readonly log: Logger
  /** Starts a worker with the current certificates; a later `setTls` reaches it, whether or not it serves yet. */
  start(index: number): WorkerHandle
  /** Called when workers keep ending, or can no longer start: the service cannot continue. */
  onGiveUp(reason: string): void
  /** Called when a worker that ended is replaced. */
  onRestart?(): void
  /** Resolves after so many milliseconds, or when `signal` is aborted. Default: a timer. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined)

/**
 * Starts the workers, all of which must serve before it resolves, and replaces a worker that ends by itself.
 * A replacement that cannot start counts as ended; the next one starts later.
 * @throws the error of the first worker that could not start
 */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { log, onGiveUp, wait = sleep } = options
  const members = new Map<number, WorkerHandle>()
  const ends: number[] = []
  const draining = new AbortController()

  const addWorker = (index: number): WorkerHandle => {
    const member = options.start(index)
    members.set(index, member)
    return member
  }
  const endsWithinMinute = (): number => {
    const now = performance.now()
    while (ends[0] !== undefined && now - ends[0] > 60_000) ends.shift()
    return ends.push(now)
  }
  const isServing = ({ index, listening }: WorkerHandle): Promise<boolean> =>
    listening.then(
      () => true,
      (error: unknown) => {
        if (!draining.signal.aborted) log.error({ worker: index, error }, 'a worker could not start')
        return false
      },
    )
  /** @param before how many workers in a row could not start in this place before this one */
  const replaceWhenGone = async (member: WorkerHandle, before = 0): Promise<void> => {
    const failedStarts = (await isServing(member)) ? 0 : before + 1
    const code = await member.gone
    if (draining.signal.aborted) return
    members.delete(member.index)
    const count = endsWithinMinute()
    if (failedStarts >= maxFailedStarts) {
      return onGiveUp(`workers could not start ${failedStarts} times in a row`)
    }
    if (count > maxRestartsPerMinute) return onGiveUp(`workers ended ${count} times within a minute`)
    const waitMs = failedStarts === 0 ? 0 : firstWaitMs * 2 ** (failedStarts - 1)
    log.error({ worker: member.index, code, wait_ms: waitMs }, 'a worker ended and is replaced')
    options.onRestart?.()
    if (waitMs > 0) await wait(waitMs, draining.signal)
    if (!draining.signal.aborted) void replaceWhenGone(addWorker(member.index), failedStarts)
  }

  let size = options.size
  const first = Array.from({ length: size }, (_, index) => addWorker(index))
  try {
    await Promise.all(first.map((member) => member.listening))
  } catch (error) {
    draining.abort()
    await Promise.all(first.map((member) => member.drain(0)))
    throw error
  }
  for (const member of first) void replaceWhenGone(member)

  return {
    size: () => size,
    busy: () => Math.max(0, ...[...members.values()].map((member) => member.busy())),
    async scaleUp() {
      const member = addWorker(size)
      try {
        await member.listening
      } catch (error) {
        members.delete(member.index)
        throw error
      }
      size += 1
      void replaceWhenGone(member)
      for (const other of members.values()) if (other !== member) other.spread(1 / size)
    },
    setTls(tls) {
      for (const member of members.values()) member.setTls(tls)
    },
    metrics: () => Promise.all([...members.values()].map((member) => member.metrics())),
    async drain(timeoutMs) {
      draining.abort()
      await Promise.all([...members.values()].map((member) => member.drain(timeoutMs)))
    },
  }
}
