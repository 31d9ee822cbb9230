import { type Change, change, type Database, query } from '@warder/foundation/sql'
import { type CountedMessages, endingFrom } from './budget-look.ts'
import { maxInvocations } from './gcm-budget-store.ts'
import type { ManagedObject } from './managed-object.ts'
import type { ObjectId } from './object-id.ts'
import { toleranceMs } from './rotation-plan.ts'
import { withheld } from './state-machine.ts'

// `look_from` says at how many messages the service looks at a version: versions that have encrypted so many are an index
// of their own, however many keys there are. `look_at` puts off those that were looked at and stay there.

interface Row {
  readonly object_id: ObjectId
  readonly reserved: number
  readonly look_from: number
  readonly told: number
}

const due = query<[now: number, limit: number], Row>(
  `SELECT b.object_id, b.reserved, b.look_from, b.told FROM gcm_budget b
     WHERE b.reserved >= b.look_from AND b.look_at <= ? ORDER BY b.look_at LIMIT ?`,
)
// Put off for longer than anything is: a clock was ahead.
const tooLate = query<[latest: number, limit: number], Row>(
  `SELECT b.object_id, b.reserved, b.look_from, b.told FROM gcm_budget b
     WHERE b.reserved >= b.look_from AND b.look_at > ? LIMIT ?`,
)
const mark = query<[from: number, at: number, told: number, id: string, from: number, told: number], unknown>(
  'UPDATE gcm_budget SET look_from = ?, look_at = ?, told = ? WHERE object_id = ? AND look_from = ? AND told = ?',
)
// Another value each time, so that a look that began before writes nothing.
const again = query<[id: string], unknown>(
  `UPDATE gcm_budget SET look_at = 0, look_from = CASE WHEN look_from > 0 THEN 0 ELSE look_from - 1 END
     WHERE object_id = ?`,
)
const soon = query<[id: string], unknown>(
  'UPDATE gcm_budget SET look_at = 0 WHERE object_id = ? AND look_at > 0',
)
const lower = query<[from: number, id: string, from: number], unknown>(
  'UPDATE gcm_budget SET look_from = ?, look_at = 0 WHERE object_id = ? AND look_from > ?',
)
const highestUse = query<[limit: number], unknown>(
  `UPDATE gcm_budget SET look_at = 0, look_from = CASE WHEN look_from > 0 THEN 0 ELSE look_from - 1 END WHERE object_id IN (
     SELECT object_id FROM gcm_budget WHERE reserved >= 1048576 ORDER BY reserved DESC LIMIT ?)`,
)
const ending = query<[least: number, told: number, late: number, most: number], { readonly count: number }>(
  `SELECT COUNT(*) AS count FROM (
     SELECT b.object_id FROM gcm_budget b JOIN managed_object v ON v.id = b.object_id
       WHERE b.reserved >= 1048576 AND b.reserved >= ? AND (b.told >= ? OR b.reserved >= ?) AND v.superseded_at IS NULL AND v.state = 'Active' LIMIT ?) page`,
)

/** Refused rotations by use are tried again after so long, or when the key can be used again. */
export const useRetryMs = 3_600_000
/** Versions that a new policy looks at before the others, those with the most messages first. */
const maxAtOnce = 10_000
/** Keys near the end of their budget that are counted. */
const maxCounted = 10_000

/** A version whose messages have reached the number at which the service looks at it. */
export interface DueBudget extends CountedMessages {
  readonly id: ObjectId
  readonly lookFrom: number
}

/** Versions at which the service has to look, those first that it has not put off; `limit` at most. */
export async function budgetsToLookAt(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly DueBudget[]> {
  const found = await db.all(due, [now, limit])
  const rows = found.length > 0 ? found : await db.all(tooLate, [now + useRetryMs + toleranceMs, limit])
  return rows.map(({ object_id: id, reserved, look_from: lookFrom, told }) => ({
    id,
    reserved,
    lookFrom,
    told,
  }))
}

/** What is written down of a look: what is left out stays as it was. */
export interface BudgetMark {
  readonly lookFrom?: number
  /** Not before; Unix milliseconds. */
  readonly lookAt?: number
  readonly told?: number
}

/** Writes what a look decided, unless another one did or the settings of the key changed since. */
export function budgetMark(before: DueBudget, { lookFrom, lookAt = 0, told }: BudgetMark): Change {
  const { id } = before
  const after = [lookFrom ?? before.lookFrom, lookAt, told ?? before.told] as const
  return change(mark, [...after, id, before.lookFrom, before.told])
}

/** Lets the service look at a version no later than at so many messages. */
export function lookNoLaterThan(id: string, messages: number): Change {
  return change(lower, [messages, id, messages])
}

/** Lets a new policy reach what has encrypted the most at once; the others are reached by the look at all keys. */
export function lookAtMostUsed(): Change {
  return change(highestUse, [maxAtOnce])
}

/** What a change of an object means for the next look: at once with another limit, and when it is not withheld any more. */
export function budgetLooks(before: ManagedObject, after: ManagedObject): Change[] {
  if (after.algorithm !== 'AES') return []
  const isFreed = withheld(before) !== undefined && withheld(after) === undefined
  return [
    ...(before.rotateAfter === after.rotateAfter ? [] : [change(again, [after.newestId ?? after.id])]),
    ...(isFreed ? [change(soon, [after.id])] : []),
  ]
}

/** Messages that no key reaches whose rotation by use works: the highest number of a rule, and what is encrypted until a look. */
const lateFrom = 4_100_000_000

/** Active keys that stop encrypting soon and that nothing rotates before. */
export async function countEnding(db: Database): Promise<number> {
  return (await db.get(ending, [endingFrom, maxInvocations, lateFrom, maxCounted]))?.count ?? 0
}
