import { type Database, query } from '@warder/storage'
import type { ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'
import { toleranceMs } from './rotation-plan.ts'

const byTime = query<[now: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE rotate_at <= ? ORDER BY rotate_at LIMIT ?`,
)
// A date further away than the interval, and the offset before the first, was set by a clock that was ahead.
const tooLate = query<[now: number, latest: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object
     WHERE rotate_at > ? AND rotate_at - 1000 *
       (rotate_every + CASE WHEN newest_id IS NULL THEN COALESCE(rotate_offset, 0) ELSE 0 END) > ? LIMIT ?`,
)

/** Keys whose rotation is due by their own schedule; at most `limit`. */
export async function dueRotations(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(byTime, [now, limit])).map(toObject)
}

/** Keys whose next rotation is further away than their interval: it was set by a node with a fast clock. */
export async function listMisdatedRotations(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(tooLate, [now, now + toleranceMs, limit])).map(toObject)
}
