/** Limits how many calls run at a time. The others wait in the order of their arrival. */
export interface Semaphore {
  /** Waits for a slot. @returns a function that releases it @throws the error of `rejectWaiting` */
  acquire(): Promise<() => void>
  /** Rejects every call that is waiting now. */
  rejectWaiting(error: Error): void
}

/** The queue has no bound: each entry contains only the request of its caller. @param limit calls at a time */
export function createSemaphore(limit: number): Semaphore {
  let free = limit
  let waiting: { readonly go: () => void; readonly fail: (error: Error) => void }[] = []
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next.go()
  }
  return {
    acquire: () =>
      new Promise((resolve, reject) => {
        if (free === 0) {
          waiting.push({ go: () => resolve(release), fail: reject })
        } else {
          free -= 1
          resolve(release)
        }
      }),
    rejectWaiting(error) {
      const refused = waiting
      waiting = []
      for (const { fail } of refused) fail(error)
    },
  }
}
