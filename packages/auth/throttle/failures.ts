import { createHmac } from 'node:crypto'
import type { Commit, Database } from '@warder/storage'
import {
  addFailure,
  blockSlot,
  clearFailures,
  findFailures,
  moveFailuresBack,
  removeFailuresBefore,
} from './failure-store.ts'

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
export interface FailureState {
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

/** Rows of one commit of a sweep, so that logins do not wait behind it; the table has `slots` rows at most. */
const batch = 1000

/** Deletes expired counters. */
export async function removeOldFailures(commit: Commit, now: number): Promise<void> {
  for (let round = 0; round <= slots / batch; round++) {
    if ((await removeFailuresBefore(commit, now - forgottenAfter, batch)) < batch) return
  }
}
