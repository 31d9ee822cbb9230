import { type Database, query } from '@warder/foundation/sql'
import type { ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'
import { toleranceMs } from './rotation-plan.ts'

const columns = objectColumns
  .split(', ')
  .map((column) => `k.${column}`)
  .join(', ')
const byTime = query<[now: number, limit: number], ObjectRow>(
  `SELECT ${columns} FROM managed_object k WHERE k.rotate_at <= ? ORDER BY k.rotate_at LIMIT ?`,
)
// A date further away than the interval, and the offset before the first, was set by a clock that was ahead.
const tooLate = query<[now: number, latest: number, limit: number], ObjectRow>(
  `SELECT ${columns} FROM managed_object k
     WHERE k.rotate_at > ? AND k.rotate_at - 1000 *
       (k.rotate_every + CASE WHEN k.newest_id IS NULL THEN COALESCE(k.rotate_offset, 0) ELSE 0 END) > ? LIMIT ?`,
)
const byUse = query<[limit: number], ObjectRow>(
  `SELECT ${columns} FROM managed_object k JOIN gcm_budget b ON b.object_id = COALESCE(k.newest_id, k.id)
     WHERE k.rotate_after > 0 AND b.reserved >= k.rotate_after LIMIT ?`,
)

/** Keys whose rotation is due by time or by use, `limit` of each at most. */
export async function dueRotations(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  const rows = [...(await db.all(byTime, [now, limit])), ...(await db.all(byUse, [limit]))]
  return [...new Map(rows.map((row) => [row.id, toObject(row)])).values()]
}

/** Keys whose next rotation is further away than their interval: the clock was ahead when it was set, and is not any more. */
export async function misdatedRotations(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(tooLate, [now, now + toleranceMs, limit])).map(toObject)
}
