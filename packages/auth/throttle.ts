import { createHmac } from 'node:crypto'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { type Clock, failure, KeyedLimiter } from '@warder/base'
import { createTokenBuckets, type TokenBuckets, tokenBucketMemory } from '@warder/server'
import type { Commit, Database } from '@warder/storage'
import {
  addFailure,
  blockSlot,
  clearFailures,
  findFailures,
  moveFailuresBack,
  removeFailuresBefore,
} from './throttle-store.ts'

/** Number of failures without a wait; each further failure doubles the wait. */
const freeFailures = 5
/** Maximum wait in seconds, so that a user with a forgotten password is not locked out for longer. */
const maxWaitSeconds = 900
/** Seconds without a failure after which the count restarts. */
const forgottenAfter = 3600
/** Maximum clock difference of two nodes in seconds. */
const clockDifference = 5
/** Maximum number of rows: names and addresses are hashed to slots, so that a flood of names cannot grow the table. */
const slots = 2 ** 20

/** State of one (realm, name, address prefix). */
interface FailureState {
  readonly failures: number
  /** Seconds until the next attempt is allowed; 0 = now. */
  readonly waitSeconds: number
}

/** Counts failed logins for each realm, name and address prefix, for all workers and nodes together. */
export interface FailureCounter {
  findSlot(realm: string, foldedName: string, addressPrefix: string): number
  state(slot: number, now: number): Promise<FailureState>
  /** Only failures write. */
  count(slot: number, now: number): Promise<void>
  clear(slot: number): Promise<void>
}

/** @param key secret, so that clients cannot compute the slot of a name */
export function createFailureCounter(db: Database, key: Uint8Array): FailureCounter {
  return {
    findSlot(realm, foldedName, addressPrefix) {
      const digest = createHmac('sha256', key)
        .update(JSON.stringify([realm, foldedName, addressPrefix]))
        .digest()
      return digest.readUInt32BE(0) % slots
    },
    async state(slot, now) {
      const row = await findFailures(db, slot)
      if (row === undefined || row.last_at < now - forgottenAfter) return { failures: 0, waitSeconds: 0 }
      const maxWait = waitAfter(row.failures)
      // Failures recorded by a clock that was ahead count from now on: otherwise logins would be blocked
      // until that time.
      const latest = now + clockDifference
      if (row.last_at > latest) await moveFailuresBack(db, slot, { now, until: now + maxWait, latest })
      // A clock that was set back does not extend the wait beyond its maximum.
      const wait = Math.min(row.blocked_until - now, maxWait)
      return { failures: row.failures, waitSeconds: Math.max(0, wait) }
    },
    async count(slot, now) {
      const failures = await addFailure(db, slot, now, now - forgottenAfter)
      if (failures >= freeFailures) await blockSlot(db, slot, now + waitAfter(failures))
    },
    async clear(slot) {
      await clearFailures(db, slot)
    },
  }
}

/** Returns the wait in seconds after a number of failures: 1, 2, 4 … from the fifth on. */
function waitAfter(failures: number): number {
  if (failures < freeFailures) return 0
  return Math.min(maxWaitSeconds, 2 ** Math.min(20, failures - freeFailures))
}

/** Deletes expired counters. @returns how many */
export function removeOldFailures(commit: Commit, now: number): Promise<number> {
  return removeFailuresBefore(commit, now - forgottenAfter)
}

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

/** Number of address buckets; addresses that collide share tokens. */
const bucketSlots = 65_536
/** Worker threads inherit the environment data of the primary, so all of them use the same buckets. */
const key = 'warder.auth.login-buckets'

/** In the primary, before any worker. */
export function shareLoginBuckets(): void {
  setEnvironmentData(key, tokenBucketMemory(bucketSlots))
}

/** Logins of every kind, by address: in the memory that the primary shares, or in memory of its own. */
export function createLoginBuckets(parts: {
  readonly ratePerSecond: number
  readonly burst: number
  readonly clock: Clock
}): TokenBuckets {
  const memory = getEnvironmentData(key)
  return createTokenBuckets({
    ...parts,
    slots: bucketSlots,
    ...(memory instanceof SharedArrayBuffer ? { memory } : {}),
  })
}
