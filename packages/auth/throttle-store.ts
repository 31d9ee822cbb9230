import { randomBytes } from 'node:crypto'
import {
  type Commit,
  change,
  type Database,
  insertInto,
  query,
  type Seal,
  UniqueViolation,
} from '@warder/storage'
import { removeInBatches } from './sweep.ts'

/** Stored failures of one slot. Times are Unix seconds. */
interface FailureRow {
  readonly failures: number
  readonly last_at: number
  readonly blocked_until: number
}

const bySlot = query<[slot: number], FailureRow>(
  'SELECT failures, last_at, blocked_until FROM login_failure WHERE slot = ?',
)
/** Counts in one statement, so that parallel failures of all workers add up. */
const add = query<[slot: number, now: number, forgotten: number], { readonly failures: number }>(
  `INSERT INTO login_failure (slot, failures, last_at, blocked_until) VALUES (?, 1, ?, 0)
     ON CONFLICT (slot) DO UPDATE SET last_at = excluded.last_at,
       failures = CASE WHEN login_failure.last_at < ? THEN 1 ELSE login_failure.failures + 1 END
     RETURNING failures`,
)
const block = query<[until: number, slot: number, until: number], unknown>(
  'UPDATE login_failure SET blocked_until = ? WHERE slot = ? AND blocked_until < ?',
)
/** Affects only rows whose last failure is in the future, written by a clock that was ahead. */
const moveBack = query<[now: number, until: number, slot: number, latest: number], unknown>(
  'UPDATE login_failure SET last_at = ?, blocked_until = ? WHERE slot = ? AND last_at > ?',
)
const clear = query<[slot: number], unknown>('DELETE FROM login_failure WHERE slot = ?')
const removeOld = query<[before: number, limit: number], unknown>(
  'DELETE FROM login_failure WHERE slot IN (SELECT slot FROM login_failure WHERE last_at < ? LIMIT ?)',
)

export async function findFailures(db: Database, slot: number): Promise<FailureRow | undefined> {
  return db.get(bySlot, [slot])
}

/**
 * Adds a failure; the count restarts when the last failure was before `forgotten`.
 * @returns the new count
 */
export async function addFailure(
  db: Database,
  slot: number,
  now: number,
  forgotten: number,
): Promise<number> {
  const [counted] = await db.commit([change(add, [slot, now, forgotten])])
  return Number(counted?.rows[0]?.failures ?? 1)
}

/** Moves the end of the wait later, never earlier. */
export async function blockSlot(db: Database, slot: number, until: number): Promise<void> {
  await db.commit([change(block, [until, slot, until])])
}

/**
 * Sets the last failure to `now` and the end of the wait to `until` if the last failure is after `latest`.
 */
export async function moveFailuresBack(
  db: Database,
  slot: number,
  times: { readonly now: number; readonly until: number; readonly latest: number },
): Promise<void> {
  await db.commit([change(moveBack, [times.now, times.until, slot, times.latest])])
}

export async function clearFailures(db: Database, slot: number): Promise<void> {
  await db.commit([change(clear, [slot])])
}

/** Removes rows whose last failure was before `before`. @returns how many */
export function removeFailuresBefore(commit: Commit, before: number): Promise<number> {
  return removeInBatches(commit, (limit) => [change(removeOld, [before, limit])])
}

const purpose = 'throttle'
const kid = 'throttle'
const sealContext = { table: 'signing_key', row: `${purpose}/${kid}`, column: 'sealed_private' }

const find = query<[purpose: string], { readonly sealed_private: Uint8Array }>(
  'SELECT sealed_private FROM signing_key WHERE purpose = ?',
)
const insert = insertInto<[string, string, string, Uint8Array, number]>('signing_key', [
  'purpose',
  'kid',
  'public_jwk',
  'sealed_private',
  'created_at',
])

/** Generates the key that assigns failure counters to slots: the same for all workers and nodes. */
export async function ensureThrottleKey(db: Database, seal: Seal, now: number): Promise<void> {
  if ((await db.get(find, [purpose])) !== undefined) return
  try {
    await db.commit([change(insert, [purpose, kid, '{}', seal.seal(sealContext, randomBytes(32)), now])])
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
}

/** Throws when there is none: `ensureThrottleKey` runs before. */
export async function openThrottleKey(db: Database, seal: Seal): Promise<Uint8Array> {
  const row = await db.get(find, [purpose])
  if (row === undefined) throw new Error('there is no key for the failure counters')
  return seal.open(sealContext, row.sealed_private)
}
