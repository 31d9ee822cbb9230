import { KeyedLimiter } from '@warder/base'

/** State of a job. */
export type JobStage = 'waiting' | 'running'

/** A reserved slot of the queue. The caller must call exactly one of the two methods, once. */
export interface JobContext {
  /**
   * Runs `job` when its turn comes. `onError` receives its errors.
   * @param names under which `hurry` and `stageOf` find it
   */
  fill(job: () => Promise<void>, names: readonly string[]): void
  giveBack(): void
}

/** Work that continues after its request was answered. */
export interface Jobs {
  /**
   * Reserves a slot for a job, before the client is promised its execution. undefined: too many jobs wait, or they use
   * too much memory.
   * @param bytes memory that the job uses until it is done
   */
  reserve(owner: string, bytes: number): JobContext | undefined
  /**
   * Starts the job of this name now if it still waits; resolves when the job is done. undefined: no such job waits or
   * runs here; `already`: another caller has hurried this name, and the job is not done yet.
   */
  hurry(name: string): Promise<void> | 'already' | undefined
  /** undefined: no such job waits or runs here. */
  stageOf(name: string): JobStage | undefined
  readonly waiting: number
  /** Jobs that wait or run. */
  readonly unfinished: number
}

export interface JobLimits {
  /** Maximum number of waiting jobs. */
  readonly waiting: number
  /** Maximum memory of all unfinished jobs, in bytes. */
  readonly bytes: number
  /** Maximum memory of the unfinished jobs of one owner, in bytes. */
  readonly bytesOfOwner: number
}

interface Entry {
  readonly run: () => Promise<void>
  readonly names: readonly string[]
  readonly leave: () => void
  readonly hurried: Set<string>
  /** Set when the job starts; never rejects. */
  running: Promise<void> | undefined
}

/**
 * A bounded queue of one worker.
 * @param running maximum number of concurrent jobs, besides those started by `hurry`
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
