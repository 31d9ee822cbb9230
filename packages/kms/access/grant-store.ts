import { type Change, change, type Database, type MaybePromise, query } from '@warder/foundation/sql'
import { joinedObjectColumns, type ManagedObject, type ObjectRow, toObject } from '../objects/index.ts'
import { everybody } from './right.ts'

interface OperationRow {
  readonly operation: string
}

// On the hot path of a grantee: two point reads of the primary key, never a scan of an object's grants.
const ofUser = query<[id: string, user: string, everybody: string], OperationRow>(
  'SELECT operation FROM object_grant WHERE object_id = ? AND user_id IN (?, ?)',
)
const ofObject = query<[id: string, limit: number], { readonly user_id: string; readonly operation: string }>(
  'SELECT user_id, operation FROM object_grant WHERE object_id = ? ORDER BY user_id, operation LIMIT ?',
)
const obtainedPage = query<
  [user: string, everybody: string, user: string, after: string, limit: number],
  ObjectRow
>(
  `SELECT ${joinedObjectColumns} FROM managed_object o
     WHERE o.id IN (SELECT g.object_id FROM object_grant g WHERE g.user_id IN (?, ?))
       AND o.owner <> ? AND o.id > ? ORDER BY o.id LIMIT ?`,
)
const grant = query<[id: string, user: string, operation: string], unknown>(
  'INSERT INTO object_grant (object_id, user_id, operation) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
)
const revoke = query<[id: string, user: string, operation: string], unknown>(
  'DELETE FROM object_grant WHERE object_id = ? AND user_id = ? AND operation = ?',
)

/** What was granted on an object to a user or to everybody; read anew each time, so that a revoked right is gone. */
export function grantedTo(
  db: Database,
  id: string,
  user: string,
): MaybePromise<ReadonlySet<string> | undefined> {
  const rows = db.all(ofUser, [id, user, everybody])
  return rows instanceof Promise ? rows.then(toSet) : toSet(rows)
}

function toSet(rows: readonly OperationRow[]): ReadonlySet<string> | undefined {
  return rows.length === 0 ? undefined : new Set(rows.map(({ operation }) => operation))
}

export interface Grants {
  readonly user: string
  readonly operations: readonly string[]
}

/** Most rows of grants that one answer lists. */
const mostListed = 10_000

/** Who was granted what on an object, sorted. */
export async function grantsOn(db: Database, id: string): Promise<readonly Grants[]> {
  const byUser = new Map<string, string[]>()
  for (const { user_id, operation } of await db.all(ofObject, [id, mostListed])) {
    const operations = byUser.get(user_id) ?? []
    operations.push(operation)
    byUser.set(user_id, operations)
  }
  return [...byUser].map(([user, operations]) => ({ user, operations }))
}

/** A page of other people's objects on which `user` was granted something, in the order of ids. */
export async function obtainedObjects(
  db: Database,
  user: string,
  after: string,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(obtainedPage, [user, everybody, user, after, limit])).map(toObject)
}

export function grantChanges(id: string, user: string, operations: readonly string[]): Change[] {
  return operations.map((operation) => change(grant, [id, user, operation]))
}

export function revokeChanges(id: string, user: string, operations: readonly string[]): Change[] {
  return operations.map((operation) => change(revoke, [id, user, operation]))
}
