import type { Caller } from '@warder/server'
import { type Change, change, type Database, query } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import type { ObjectId } from '../objects/object-id.ts'
import { findObject } from '../objects/object-store.ts'
import { allUsers, rights } from './right.ts'

interface OperationRow {
  readonly operation: string
}
interface GrantRow extends OperationRow {
  readonly object_id: string
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
// Two stretches of the index, as long as one page can need; the database orders them, by its own rules.
const ofUserAfter = query<
  [user: string, after: string, rows: number, allUsers: string, after: string, rows: number, rows: number],
  GrantRow
>(
  `SELECT object_id, operation FROM (SELECT object_id, operation FROM object_grant
       WHERE user_id = ? AND object_id > ? ORDER BY object_id, operation LIMIT ?) mine
   UNION SELECT object_id, operation FROM (SELECT object_id, operation FROM object_grant
       WHERE user_id = ? AND object_id > ? ORDER BY object_id, operation LIMIT ?) everybodys
   ORDER BY object_id, operation LIMIT ?`,
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
 * Reads the rights on an object granted to a caller, to a role of the caller, or to all users; never cached, so that
 * revocation is immediate.
 */
export async function findGrantedRights(
  db: Database,
  id: string,
  { name, roles = [] }: Caller,
): Promise<ReadonlySet<string> | undefined> {
  if (roles.length === 0) return findRightsForEither(db, id, name, allUsers)
  const names = [name, allUsers, ...roles]
  const rows: OperationRow[] = []
  for (let from = 0; from < names.length; from += namesAtOnce)
    rows.push(...(await db.all(ofAny, [id, ...padNames(names.slice(from, from + namesAtOnce), namesAtOnce)])))
  return toSet(rows)
}

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

export interface Obtained {
  readonly object: ManagedObject
  /** Sorted. */
  readonly operations: readonly string[]
}

/** Max objects scanned for one page: many grants in a long list may be on the user's own objects. */
const maxScanned = 10_000

/**
 * A page of other users' objects on which a right was granted to `user` or to all users, in the order of ids. It reads
 * a range of the index of grants, never the whole index. `next` is the start of the next page; undefined = the end.
 */
export async function listObtainedObjects(
  db: Database,
  user: string,
  after: string,
  limit: number,
): Promise<{ readonly page: readonly Obtained[]; readonly next: string | undefined }> {
  const page: Obtained[] = []
  let from = after
  for (let looked = 0; looked < maxScanned; ) {
    const { granted, whole } = await readGrantsAfter(db, user, from, limit)
    for (const [id, operations] of granted) {
      from = id
      const object = await findObject(db, id as ObjectId)
      if (object === undefined || object.owner === user) continue
      page.push({ object, operations })
      if (page.length === limit) return { page, next: from }
    }
    looked += granted.length
    if (whole) return { page, next: undefined }
  }
  return { page, next: from }
}

/** Rows read per object of a page: objects typically have a few rights. */
const rowsOfObject = 4

/**
 * Reads about `limit` further objects with grants to the user or to all users, and all these grants of each. `whole`:
 * there are no more.
 */
async function readGrantsAfter(
  db: Database,
  user: string,
  after: string,
  limit: number,
): Promise<{
  readonly granted: readonly (readonly [id: string, operations: readonly string[]])[]
  readonly whole: boolean
}> {
  // An object has at most one row per right, so at least one object is complete.
  const rows = limit * rowsOfObject + rights.length
  const found = await db.all(ofUserAfter, [user, after, rows, allUsers, after, rows, rows])
  const byId = new Map<string, string[]>()
  for (const { object_id: id, operation } of found) {
    const operations = byId.get(id)
    if (operations === undefined) byId.set(id, [operation])
    else operations.push(operation)
  }
  const whole = found.length < rows
  const granted = [...byId]
  // Of the last one there may be more rows.
  return { granted: whole ? granted : granted.slice(0, -1), whole }
}

export function grantChanges(id: string, user: string, operations: readonly string[]): Change[] {
  return operations.map((operation) => change(grant, [id, user, operation]))
}

export function revokeChanges(id: string, user: string, operations: readonly string[]): Change[] {
  return operations.map((operation) => change(revoke, [id, user, operation]))
}
