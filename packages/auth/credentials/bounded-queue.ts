import { failure } from '@warder/foundation/errors'

/** Runs work at most `concurrency` at a time, in the order in which it came. */
export interface BoundedQueue {
  /** @throws failure('overloaded') at once when `longest` wait already */
  run<R>(work: () => Promise<R>): Promise<R>
}

export function createBoundedQueue(concurrency: number, longest: number): BoundedQueue {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    async run(work) {
      if (running < concurrency) {
        running++
      } else {
        if (waiting.length >= longest)
          throw failure('overloaded', 'the queue is full', { retryAfterSeconds: 2 })
        // Whoever finishes hands its place on, so that nobody who comes later gets in between.
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    },
  }
}
