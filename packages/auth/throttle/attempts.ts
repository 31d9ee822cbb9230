import { failure } from '@warder/foundation/errors'
import { KeyedLimiter } from '@warder/foundation/runtime'
import type { FailureCounter } from './failures.ts'

/** Attempts at one name and address that all workers look at together; as many as may fail without a wait. */
const together = 5
/** Attempts of everybody that may wait for their turn in one worker. */
const maxWaiting = 256
/** Of these, attempts of one address. */
const maxWaitingPerClient = maxWaiting / 4

interface Gate {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Lets attempts at one counter through, five at most at a time over all workers, so that two hundred guesses sent at
 * once are not two hundred guesses: whoever waited sees the failures of those before.
 */
export interface Attempts {
  /**
   * Runs an attempt. What it throws is passed on; it counts failures itself.
   * @param client an address, or the /64 of one: no client takes all places to wait
   * @throws failure('rate_limited') while the counter demands a wait, failure('overloaded') when too many wait
   */
  run<R>(client: string, slot: number, attempt: () => Promise<R>): Promise<R>
}

/** @param workers that share the five; each has at least one */
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
      throw failure('overloaded', 'too many logins wait', { retryAfterSeconds: 2 })
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
