import { setTimeout } from 'node:timers/promises'
import type { Logger } from '@warder/base'
import type { TlsMaterials } from './messages.ts'
import type { WorkerHandle } from './worker.ts'

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
  /** Starts another worker, and moves connections to it. @throws what the worker threw when it could not start */
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
  setTimeout(ms, undefined, { signal }).catch(() => undefined)

/**
 * Starts the workers, all of which must serve before it resolves, and replaces a worker that ends by itself. A replacement
 * that cannot start counts as ended; the next one starts later.
 * @throws what the first worker that could not start threw
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
