import { createHmac } from 'node:crypto'
import { type Commit, change, type Database, query } from '@warder/foundation/sql'

/** Failures that cost nothing; each one more doubles the wait. */
const freeFailures = 5
/** Seconds; a person who forgot a password is never away for longer. */
const longestWait = 900
/** Seconds without a failure after which the count begins again. */
const forgottenAfter = 3600
/** Seconds by which the clocks of two nodes may differ. */
const clockDifference = 5
/** Rows at most: names and addresses fall into slots, so that no flood of names makes the table grow. */
const slots = 2 ** 20

interface FailureRow {
  readonly failures: number
  readonly last_at: number
  readonly blocked_until: number
}

const bySlot = query<[slot: number], FailureRow>(
  'SELECT failures, last_at, blocked_until FROM login_failure WHERE slot = ?',
)
/** Counts in one statement, so that parallel failures of all workers add up. */
const add = query<[slot: number, now: number, now: number], { readonly failures: number }>(
  `INSERT INTO login_failure (slot, failures, last_at, blocked_until) VALUES (?, 1, ?, 0)
     ON CONFLICT (slot) DO UPDATE SET last_at = excluded.last_at,
       failures = CASE WHEN login_failure.last_at < ? THEN 1 ELSE login_failure.failures + 1 END
     RETURNING failures`,
)
const block = query<[until: number, slot: number, until: number], unknown>(
  'UPDATE login_failure SET blocked_until = ? WHERE slot = ? AND blocked_until < ?',
)
/** What was counted by a clock that was ahead counts from now on: else nobody could wait until its time has come. */
const bringBack = query<[now: number, until: number, slot: number, now: number], unknown>(
  'UPDATE login_failure SET last_at = ?, blocked_until = ? WHERE slot = ? AND last_at > ?',
)
const clear = query<[slot: number], unknown>('DELETE FROM login_failure WHERE slot = ?')
const removeOld = query<[before: number, most: number], unknown>(
  'DELETE FROM login_failure WHERE slot IN (SELECT slot FROM login_failure WHERE last_at < ? LIMIT ?)',
)

/** What is known about one (realm, name, address prefix). */
export interface FailureState {
  readonly failures: number
  /** Seconds until the next attempt is heard; 0 = now. */
  readonly waitSeconds: number
}

/** Counts failed logins for each realm, name and address prefix, for all workers and nodes together. */
export interface FailureCounter {
  slotOf(realm: string, foldedName: string, addressPrefix: string): number
  state(slot: number, now: number): Promise<FailureState>
  /** Only failures write. */
  count(slot: number, now: number): Promise<void>
  clear(slot: number): Promise<void>
}

/** @param key secret, so that nobody can compute whose counter a name falls into */
export function createFailureCounter(db: Database, key: Uint8Array): FailureCounter {
  return {
    slotOf(realm, foldedName, addressPrefix) {
      const digest = createHmac('sha256', key)
        .update(JSON.stringify([realm, foldedName, addressPrefix]))
        .digest()
      return digest.readUInt32BE(0) % slots
    },
    async state(slot, now) {
      const row = await db.get(bySlot, [slot])
      if (row === undefined || row.last_at < now - forgottenAfter) return { failures: 0, waitSeconds: 0 }
      const longest = waitAfter(row.failures)
      if (row.last_at > now + clockDifference) {
        await db.commit([change(bringBack, [now, now + longest, slot, now + clockDifference])])
      }
      // Nor does a clock that was set back make the wait longer than it ever is.
      const wait = Math.min(row.blocked_until - now, longest)
      return { failures: row.failures, waitSeconds: Math.max(0, wait) }
    },
    async count(slot, now) {
      const [counted] = await db.commit([change(add, [slot, now, now - forgottenAfter])])
      const failures = Number(counted?.rows[0]?.failures ?? 1)
      if (failures < freeFailures) return
      const until = now + waitAfter(failures)
      await db.commit([change(block, [until, slot, until])])
    },
    async clear(slot) {
      await db.commit([change(clear, [slot])])
    },
  }
}

/** Seconds to wait after so many failures: 1, 2, 4 … from the fifth on. */
export function waitAfter(failures: number): number {
  if (failures < freeFailures) return 0
  return Math.min(longestWait, 2 ** Math.min(20, failures - freeFailures))
}

/** Rows of one commit of a sweep, so that logins do not wait behind it; the table has `slots` rows at most. */
const batch = 1000

/** Forgets counters that no longer count. */
export async function removeOldFailures(commit: Commit, now: number): Promise<void> {
  for (let round = 0; round <= slots / batch; round++) {
    const [result] = await commit([change(removeOld, [now - forgottenAfter, batch])])
    if ((result?.changes ?? 0) < batch) return
  }
}
