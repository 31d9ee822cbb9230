/** Work that goes on after its request was answered. */
export interface Jobs {
  /** Runs `job` when its turn comes. false: too many wait. What it throws is told to `onError`. */
  add(job: () => Promise<void>): boolean
  readonly waiting: number
}

/**
 * A bounded queue of one worker.
 * @param running jobs at one time
 * @param most jobs that may wait
 */
export function createJobs(running: number, most: number, onError: (error: unknown) => void): Jobs {
  const queue: (() => Promise<void>)[] = []
  let active = 0
  const next = (): void => {
    const job = active < running ? queue.shift() : undefined
    if (job === undefined) return
    active++
    job()
      .catch(onError)
      .finally(() => {
        active--
        next()
      })
  }
  return {
    add(job) {
      if (queue.length >= most) return false
      queue.push(job)
      setImmediate(next)
      return true
    },
    get waiting() {
      return queue.length
    },
  }
}
