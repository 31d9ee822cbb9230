import { KeyedLimiter } from '@warder/foundation/runtime'

/** How far a job is. */
export type JobStage = 'waiting' | 'running'

/** Room for one job in the queue. One of the two has to be called, once. */
export interface JobContext {
  /**
   * Runs `job` when its turn comes. What it throws is told to `onError`.
   * @param names under which `hurry` and `stageOf` find it
   */
  fill(job: () => Promise<void>, names: readonly string[]): void
  giveBack(): void
}

/** Work that goes on after its request was answered. */
export interface Jobs {
  /**
   * Room for a job, taken before its request is promised anything. undefined: too many wait, or keep too much.
   * @param bytes that it keeps in memory until it is done
   */
  reserve(owner: string, bytes: number): JobContext | undefined
  /**
   * Runs the job of this name now if it still waits; done when it is. undefined: no such job waits or runs here;
   * `already`: somebody else was in a hurry for this name, and it is not done yet.
   */
  hurry(name: string): Promise<void> | 'already' | undefined
  /** undefined: no such job waits or runs here. */
  stageOf(name: string): JobStage | undefined
  readonly waiting: number
  /** Jobs that wait or run. */
  readonly unfinished: number
}

export interface JobLimits {
  /** Jobs that may wait. */
  readonly waiting: number
  /** Memory of all unfinished jobs in bytes. */
  readonly bytes: number
  /** The same of one owner. */
  readonly bytesOfOwner: number
}

interface Entry {
  readonly run: () => Promise<void>
  readonly names: readonly string[]
  readonly leave: () => void
  readonly hurried: Set<string>
  /** Set when it is begun; never fails. */
  running: Promise<void> | undefined
}

/**
 * A bounded queue of one worker.
 * @param running jobs at one time, beside those that somebody is in a hurry for and waits for
 */
export function createJobs(running: number, limits: JobLimits, onError: (error: unknown) => void): Jobs {
  const kept = new KeyedLimiter(limits.bytes, limits.bytesOfOwner)
  const queue: Entry[] = []
  const byName = new Map<string, Entry>()
  let active = 0
  let reserved = 0
  const start = (entry: Entry): Promise<void> => {
    active++
    entry.running = entry
      .run()
      .catch(onError)
      .finally(() => {
        for (const name of entry.names) byName.delete(name)
        entry.leave()
        active--
        next()
      })
    return entry.running
  }
  const next = (): void => {
    const entry = active < running ? queue.shift() : undefined
    if (entry !== undefined) void start(entry)
  }
  const add = (run: Entry['run'], names: readonly string[], leave: () => void): void => {
    const entry: Entry = { run, names, leave, hurried: new Set(), running: undefined }
    queue.push(entry)
    for (const name of names) byName.set(name, entry)
    setImmediate(next)
  }
  return {
    reserve(owner, bytes) {
      if (queue.length + reserved >= limits.waiting || !kept.tryAcquire(owner, bytes)) return undefined
      const leave = () => kept.release(owner, bytes)
      reserved++
      return {
        fill(job, names) {
          reserved--
          add(job, names, leave)
        },
        giveBack() {
          reserved--
          leave()
        },
      }
    },
    hurry(name) {
      const entry = byName.get(name)
      if (entry === undefined) return undefined
      if (entry.hurried.has(name)) return 'already'
      entry.hurried.add(name)
      if (entry.running !== undefined) return entry.running
      queue.splice(queue.indexOf(entry), 1)
      return start(entry)
    },
    stageOf(name) {
      const entry = byName.get(name)
      if (entry === undefined) return undefined
      return entry.running === undefined ? 'waiting' : 'running'
    },
    get waiting() {
      return queue.length
    },
    get unfinished() {
      return queue.length + active
    },
  }
}
