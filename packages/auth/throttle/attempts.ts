import { failure, KeyedLimiter } from '@warder/base'
import type { FailureCounter } from './failures.ts'

/** Maximum number of concurrent attempts per counter over all workers; equals the number of failures without a wait. */
const together = 5
/** Maximum number of waiting attempts in one worker. */
const maxWaiting = 256
/** Maximum number of waiting attempts of one address. */
const maxWaitingPerClient = maxWaiting / 4

interface Gate {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Admits attempts at one counter, at most five at a time over all workers, so that two hundred concurrent guesses are
 * not all tested: an attempt that waited sees the failures of the earlier ones.
 */
export interface Attempts {
  /**
   * Runs an attempt, which counts its failures itself and whose errors are passed on.
   * @param client an address, or the /64 of one: a single client cannot occupy the whole queue
   * @throws failure('rate_limited') while the counter demands a wait, failure('overloaded') when too many wait
   */
  run<R>(client: string, slot: number, attempt: () => Promise<R>): Promise<R>
}

/** @param workers number of workers that share the five; each has at least one */
export function createAttempts(counter: FailureCounter, now: () => number, workers: number): Attempts {
  const own = Math.max(1, Math.floor(together / workers))
  const gates = new Map<number, Gate>()
  const waiting = new KeyedLimiter(maxWaiting, maxWaitingPerClient)

  async function enter(client: string, slot: number): Promise<Gate> {
    const gate = gates.get(slot) ?? { running: 0, waiting: [] }
    gates.set(slot, gate)
    if (gate.running < own) {
      gate.running++
      return gate
    }
    if (!waiting.tryAcquire(client, 1))
      throw failure('overloaded', 'too many logins are waiting', { retryAfterSeconds: 2 })
    await new Promise<void>((resolve) => gate.waiting.push(resolve))
    waiting.release(client, 1)
    return gate
  }

  function leave(slot: number, gate: Gate): void {
    const next = gate.waiting.shift()
    if (next !== undefined) {
      next()
      return
    }
    gate.running--
    if (gate.running === 0) gates.delete(slot)
  }

  return {
    async run(client, slot, attempt) {
      const gate = await enter(client, slot)
      try {
        const { waitSeconds } = await counter.state(slot, now())
        if (waitSeconds > 0) throw failure('rate_limited', undefined, { retryAfterSeconds: waitSeconds })
        return await attempt()
      } finally {
        leave(slot, gate)
      }
    },
  }
}
