/** Lets at most so many calls go at a time; the others wait in the order in which they came. */
export interface Turns {
  /** Waits for a turn. @returns what ends it @throws what `refuse` was given */
  take(): Promise<() => void>
  /** Ends the waiting of all that wait now. */
  refuse(error: Error): void
}

/** As many may wait as are called: each holds the request of its caller, and nothing else. */
export function turns(most: number): Turns {
  let free = most
  let waiting: { readonly go: () => void; readonly fail: (error: Error) => void }[] = []
  const end = (): void => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next.go()
  }
  return {
    take: () =>
      new Promise((resolve, reject) => {
        if (free === 0) {
          waiting.push({ go: () => resolve(end), fail: reject })
        } else {
          free -= 1
          resolve(end)
        }
      }),
    refuse(error) {
      const refused = waiting
      waiting = []
      for (const { fail } of refused) fail(error)
    },
  }
}
