import { setTimeout } from 'node:timers/promises'
import type { Logger } from '../telemetry/types.ts'
import type { TlsMaterials } from './messages.ts'
import type { WorkerHandle } from './worker.ts'

/** A worker that ends this often within a minute is a fault that starting again does not mend. */
const maxRestartsPerMinute = 5
/** In a row, in one place: what workers wait for (a database) is away for longer than a service can do without. */
const maxFailedStarts = 5
/** From a failed start to the next; twice as long after each further one: 15 s in all. */
const firstWaitMs = 1_000

/** The workers of one service, kept at their number, which may grow. */
export interface WorkerPool {
  size(): number
  /** Share of the time since the last question in which the event loop of the busiest one was busy, 0 to 1. */
  busy(): number
  /** Starts one more, and lets clients come to it. @throws what it threw when it could not start */
  scaleUp(): Promise<void>
  setTls(tls: TlsMaterials): void
  metrics(): Promise<readonly unknown[]>
  drain(timeoutMs: number): Promise<void>
}

export interface WorkerPoolOptions {
  readonly size: number
  readonly log: Logger
  /** Starts one with what is in force now; a later `setTls` reaches it, whether or not it serves yet. */
  start(index: number): WorkerHandle
  /** Called when workers keep ending, or cannot start any more: the service cannot go on. */
  onGiveUp(reason: string): void
  /** Called when another worker takes the place of one that ended. */
  onRestart?(): void
  /** Resolves after so many milliseconds, or when `signal` is aborted. Default: a timer. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)

/**
 * Starts the workers, all of which must serve before it resolves, and replaces one that ends by itself. A
 * replacement that cannot start counts as one that ended; the next is started later.
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
    log.error({ worker: member.index, code, wait_ms: waitMs }, 'a worker ended; another takes its place')
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
