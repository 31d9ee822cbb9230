import { type Change, change, type Database, query } from '@warder/storage'

interface OperationRow {
  readonly operation: string
}

// On the hot path of a grantee: two point reads of the primary key, never a scan of an object's grants.
const ofUser = query<[id: string, user: string, allUsers: string], OperationRow>(
  'SELECT operation FROM object_grant WHERE object_id = ? AND user_id IN (?, ?)',
)
const ofObject = query<[id: string, limit: number], { readonly user_id: string; readonly operation: string }>(
  'SELECT user_id, operation FROM object_grant WHERE object_id = ? ORDER BY user_id, operation LIMIT ?',
)
const countGrantees = query<[id: string, limit: number], { readonly total: number }>(
  'SELECT COUNT(*) AS total FROM (SELECT DISTINCT user_id FROM object_grant WHERE object_id = ? LIMIT ?) AS grantees',
)
/** Max names in one query. */
const namesAtOnce = 16
const anyGrantee = query<readonly string[], { readonly user_id: string }>(
  `SELECT user_id FROM object_grant WHERE object_id = ? AND operation = ?
     AND user_id IN (${Array(namesAtOnce).fill('?').join(', ')}) LIMIT 1`,
)
const ofAny = query<readonly string[], OperationRow>(
  `SELECT DISTINCT operation FROM object_grant WHERE object_id = ?
     AND user_id IN (${Array(namesAtOnce).fill('?').join(', ')})`,
)
const ofUsersLike = query<[id: string, pattern: string, except: string], OperationRow>(
  'SELECT operation FROM object_grant WHERE object_id = ? AND user_id LIKE ? AND user_id NOT LIKE ? LIMIT 1',
)
const grant = query<[id: string, user: string, operation: string], unknown>(
  'INSERT INTO object_grant (object_id, user_id, operation) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
)
const revoke = query<[id: string, user: string, operation: string], unknown>(
  'DELETE FROM object_grant WHERE object_id = ? AND user_id = ? AND operation = ?',
)

/**
 * Whether any right on an object was granted to a name with the prefix `beginning`, and not with the prefix `except`.
 * Neither prefix may contain the wildcards `%` and `_`.
 */
export async function hasGrantWithPrefix(
  db: Database,
  id: string,
  beginning: string,
  except?: string,
): Promise<boolean> {
  const excepted = except === undefined ? '' : `${except}%`
  return (await db.get(ofUsersLike, [id, `${beginning}%`, excepted])) !== undefined
}

/** Rights on an object granted to one of two names. */
export async function findRightsForEither(
  db: Database,
  id: string,
  user: string,
  other: string,
): Promise<ReadonlySet<string> | undefined> {
  return toSet(await db.all(ofUser, [id, user, other]))
}

/** Rights on an object granted to any of a few names, max 16. */
export async function findRightsForAny(
  db: Database,
  id: string,
  names: readonly string[],
): Promise<ReadonlySet<string> | undefined> {
  const [one = '', other = one, ...more] = names
  if (more.length === 0) return findRightsForEither(db, id, one, other)
  return toSet(await db.all(ofAny, [id, ...padNames(names, namesAtOnce)]))
}

/**
 * Fills up a list of names, so that few different statements are prepared: the first name fills the places that are
 * left. Two names, which is the case without roles, stay two.
 */
export function padNames(names: readonly string[], places = countPlaces(names)): readonly string[] {
  return Array.from({ length: places }, (_, index) => names[index] ?? names[0] ?? '')
}

function countPlaces({ length }: readonly string[]): number {
  return length <= 2 ? 2 : Math.ceil(length / namesAtOnce) * namesAtOnce
}

/** Whether one right on an object was granted to any of these names: point reads, a few names with each statement. */
export async function isGrantedToAny(
  db: Database,
  id: string,
  operation: string,
  users: readonly string[],
): Promise<boolean> {
  for (let from = 0; from < users.length; from += namesAtOnce) {
    const some = padNames(users.slice(from, from + namesAtOnce), namesAtOnce)
    if ((await db.get(anyGrantee, [id, operation, ...some])) !== undefined) return true
  }
  return false
}

function toSet(rows: readonly OperationRow[]): ReadonlySet<string> | undefined {
  return rows.length === 0 ? undefined : new Set(rows.map(({ operation }) => operation))
}

export interface Grants {
  readonly user: string
  readonly operations: readonly string[]
}

/** Most rows of grants that one answer lists. */
const maxListed = 10_000

/** All grants on an object, sorted. */
export async function grantsOn(db: Database, id: string): Promise<readonly Grants[]> {
  const byUser = new Map<string, string[]>()
  for (const { user_id, operation } of await db.all(ofObject, [id, maxListed])) {
    const operations = byUser.get(user_id) ?? []
    operations.push(operation)
    byUser.set(user_id, operations)
  }
  return [...byUser].map(([user, operations]) => ({ user, operations }))
}

/** Max users to whom holders of `authorize` can grant rights on one key; its owner is not limited. */
const maxGrantees = 1000

/**
 * Whether a user who grants on the owner's behalf may grant rights on the object to `user`: the object has fewer than
 * the max number of grantees, or `user` is one of them.
 */
export async function hasRoomForGrantee(db: Database, id: string, user: string): Promise<boolean> {
  const total = Number((await db.get(countGrantees, [id, maxGrantees]))?.total ?? 0)
  return total < maxGrantees || (await db.all(ofUser, [id, user, user])).length > 0
}

export function grantChanges(id: string, user: string, operations: readonly string[]): Change[] {
  return operations.map((operation) => change(grant, [id, user, operation]))
}

export function revokeChanges(id: string, user: string, operations: readonly string[]): Change[] {
  return operations.map((operation) => change(revoke, [id, user, operation]))
}
