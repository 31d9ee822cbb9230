import { type Change, change, type Database, query } from '@warder/storage'
import { maxInvocations } from './gcm-budget-store.ts'
import type { ManagedObject } from './managed-object.ts'
import type { ObjectId } from './object-id.ts'
import { toleranceMs } from './rotation-plan.ts'
import { minMessages } from './rotation-policy.ts'
import { withheld } from './state-machine.ts'

/** Count of the AES-GCM messages of a version. */
interface CountedMessages {
  /** Counted in blocks that processes have reserved. */
  readonly reserved: number
  /** The highest announced number of messages; 0 = none. */
  readonly told: number
}

/** The action of the service for the number of messages that a version has encrypted. */
export type BudgetStep = 'rotate' | 'announce' | 'warn' | 'wait'

/** Limits of the messages of a version. */
export interface MessageLimit {
  /** Messages after which it is rotated; undefined: nothing rotates it by use. */
  readonly limit: number | undefined
  /** Whether rotations are announced at all. */
  readonly announced: boolean
}

/** Messages from which the end of a number of them is announced: 90 %. */
export function noticeFrom(limit: number): number {
  return Math.ceil(limit * 0.9)
}

/** Number of messages from which only a rotation keeps the key usable. */
const endingFrom = noticeFrom(maxInvocations)

/** No version encrypts so many. */
const never = maxInvocations + 1

/** Whether to report that the message limit is nearly reached. */
export function isEnding({ reserved, told }: CountedMessages): boolean {
  return reserved >= endingFrom && told < maxInvocations
}

export function budgetStep(counted: CountedMessages, { limit, announced }: MessageLimit): BudgetStep {
  const { reserved, told } = counted
  if (limit === undefined) return isEnding(counted) ? 'warn' : 'wait'
  if (reserved >= limit) return 'rotate'
  const announces = announced && limit >= minMessages && told < limit
  return announces && reserved >= noticeFrom(limit) ? 'announce' : 'wait'
}

/**
 * The number of messages at which the service checks a version next. Rotations after fewer messages than a policy can
 * set are not announced, because there would be a notice every day.
 */
export function nextLook({ reserved, told }: CountedMessages, { limit, announced }: MessageLimit): number {
  const levels =
    limit === undefined
      ? [told < maxInvocations ? endingFrom : never]
      : [...(announced && limit >= minMessages && told < limit ? [noticeFrom(limit)] : []), limit]
  return levels.find((level) => level > reserved) ?? never
}

// `look_from` is the number of messages at which the service checks a version: versions that reached it have an index
// of their own, independent of the number of keys. `look_at` postpones those that were checked and remain in it.

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
// Another value each time, so that a check that began before stores nothing.
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
/** Max versions that a new policy checks before the others, those with the most messages first. */
const maxAtOnce = 10_000
/** Keys near the end of their budget that are counted. */
const maxCounted = 10_000

/** A version whose messages have reached the number at which the service checks it. */
export interface DueBudget extends CountedMessages {
  readonly id: ObjectId
  readonly lookFrom: number
}

/** Versions that the service has to check, those that were not postponed first; at most `limit`. */
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

/** The result of a check that is stored; absent members stay unchanged. */
export interface BudgetMark {
  readonly lookFrom?: number
  /** Not before; Unix milliseconds. */
  readonly lookAt?: number
  readonly told?: number
}

/** Stores the result of a check, unless another check did or the settings of the key changed since. */
export function budgetMark(before: DueBudget, { lookFrom, lookAt = 0, told }: BudgetMark): Change {
  const { id } = before
  const after = [lookFrom ?? before.lookFrom, lookAt, told ?? before.told] as const
  return change(mark, [...after, id, before.lookFrom, before.told])
}

/** Makes the service check a version after at most so many messages. */
export function lookNoLaterThan(id: string, messages: number): Change {
  return change(lower, [messages, id, messages])
}

/** Makes a new policy check the most used versions at once; the scan of all keys reaches the others. */
export function lookAtMostUsed(): Change {
  return change(highestUse, [maxAtOnce])
}

/** Schedules the next check after a change of an object: at once if its limit changed or it is no longer withheld. */
export function budgetLooks(before: ManagedObject, after: ManagedObject): Change[] {
  if (after.algorithm !== 'AES') return []
  const isFreed = withheld(before) !== undefined && withheld(after) === undefined
  return [
    ...(before.rotateAfter === after.rotateAfter ? [] : [change(again, [after.newestId ?? after.id])]),
    ...(isFreed ? [change(soon, [after.id])] : []),
  ]
}

/**
 * More messages than a key reaches if its rotation by use works: the max number of a rule, and use until the next
 * check.
 */
const lateFrom = 4_100_000_000

/** Active keys that stop encrypting soon and that nothing rotates before. */
export async function countEnding(db: Database): Promise<number> {
  return (await db.get(ending, [endingFrom, maxInvocations, lateFrom, maxCounted]))?.count ?? 0
}
