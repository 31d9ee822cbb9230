import { type Change, change, type Database, query } from '@warder/storage'
import { getChainId, type ManagedObject } from './managed-object.ts'

const dayMs = 86_400_000

/** Days since 1970 in UTC: the stored time of a use. */
export function toDay(now: number): number {
  return Math.floor(now / dayMs)
}

/** Use of an object by a user on a day. */
export interface KeyUse {
  readonly id: string
  readonly user: string
  readonly day: number
}

const known = query<[id: string, user: string], { readonly day: number }>(
  'SELECT day FROM object_use WHERE object_id = ? AND user_id = ?',
)
// Only for existing objects: a use that is written late must not leave a row of a removed object.
const write = query<[user: string, day: number, id: string], unknown>(
  `INSERT INTO object_use (object_id, user_id, day) SELECT o.id, CAST(? AS TEXT), CAST(? AS BIGINT) FROM managed_object o WHERE o.id = ?
     ON CONFLICT (object_id, user_id) DO UPDATE SET day = excluded.day WHERE object_use.day < excluded.day`,
)
// The version stays: nothing that is cached of the object changes.
const mark = query<[day: number, id: string, day: number], unknown>(
  'UPDATE managed_object SET last_used_day = ? WHERE id = ? AND COALESCE(last_used_day, 0) < ?',
)
const ofObject = query<[id: string, since: number, limit: number], { user_id: string; day: number }>(
  'SELECT user_id, day FROM object_use WHERE object_id = ? AND day >= ? ORDER BY day DESC, user_id LIMIT ?',
)
const removeAll = query<[id: string], unknown>('DELETE FROM object_use WHERE object_id = ?')

const sweep = query<[before: number], unknown>('DELETE FROM object_use WHERE day < ?')

/** Days for which the users of an object are stored; the day of the last use is stored permanently. */
const keptDays = 400

/** Max users of an object that one response or notice names. */
const maxUsers = 1000

/** Changes that record a use; none when it is known: another worker may have written it. */
export async function useChanges(db: Database, { id, user, day }: KeyUse): Promise<readonly Change[]> {
  const before = (await db.get(known, [id, user]))?.day ?? -1
  return before >= day ? [] : [change(write, [user, day, id]), change(mark, [day, id, day])]
}

/**
 * The same for the commit that the use is part of: of a key that signs for an authority, whose uses are few and each of them
 * written at once.
 */
export function useNowChanges(
  db: Database,
  object: Pick<ManagedObject, 'id' | 'chainId'>,
  user: string,
  now: number,
): Promise<readonly Change[]> {
  return useChanges(db, { id: getChainId(object), user, day: toDay(now) })
}

/** Users of an object since a day, the latest first. */
export async function usersSince(
  db: Database,
  id: string,
  since: number,
): Promise<readonly Pick<KeyUse, 'user' | 'day'>[]> {
  return (await db.all(ofObject, [id, since, maxUsers])).map(({ user_id: user, day }) => ({ user, day }))
}

/** Deletes the users of objects that are older than `keptDays`. */
export function sweepUses(now: number): Change {
  return change(sweep, [toDay(now) - keptDays])
}

/** Uses go with their object. */
export function removeUses(id: string): Change {
  return change(removeAll, [id])
}
