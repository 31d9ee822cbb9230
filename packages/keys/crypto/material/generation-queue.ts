import { failure } from '@warder/base'

/**
 * Max RSA pairs that a worker generates at the same time. The search for primes occupies a thread of the pool for up to
 * some seconds, and the signatures and decryptions of other requests wait for the same threads.
 */
const atOnce = 2
const maxWaiting = 64

let running = 0
const waiting: (() => void)[] = []

/** Pairs that wait or are being made. */
export const countUnfinishedGenerations = (): number => running + waiting.length

/**
 * Runs slow work of the thread pool, a few at a time, in the order of asking.
 * @throws failure('overloaded') when too many wait already
 */
export async function inGenerationQueue<R>(work: () => Promise<R>): Promise<R> {
  if (running >= atOnce) {
    if (waiting.length >= maxWaiting)
      throw failure('overloaded', 'too many keys are being generated', { retryAfterSeconds: 2 })
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
    })
  } else running++
  try {
    return await work()
  } finally {
    // First in, first out: the slot goes to the request that waits longest.
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}
