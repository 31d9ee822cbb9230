import { type Change, change, type Database, insertInto, query } from '@warder/storage'

/** How long a request may wait to be executed, and its answer to be fetched, in milliseconds. */
export const lifetime = 600_000

/** A deferred request, or its answer. */
export interface PendingRow {
  readonly id: string
  readonly owner: string
  readonly operation: string
  /** Unix milliseconds. */
  readonly expires_at: number
  /** Sealed; null = not executed yet. */
  readonly result: Uint8Array | null
}

/** A request of a user without its answer. */
export interface PendingSummary {
  readonly id: string
  readonly operation: string
  /** 1: its answer waits to be fetched. */
  readonly done: number
}

const insert = insertInto<[id: string, owner: string, operation: string, expiresAt: number]>('kmip_pending', [
  'id',
  'owner',
  'operation',
  'expires_at',
])
const byId = query<[id: string, owner: string, now: number], PendingRow>(
  'SELECT id, owner, operation, expires_at, result FROM kmip_pending WHERE id = ? AND owner = ? AND expires_at > ?',
)
const selectByOwner = query<[owner: string, now: number, most: number], PendingSummary>(
  `SELECT id, operation, CASE WHEN result IS NULL THEN 0 ELSE 1 END AS done
   FROM kmip_pending WHERE owner = ? AND expires_at > ? ORDER BY id LIMIT ?`,
)
const ownerCountQuery = query<[owner: string, now: number], { readonly n: number }>(
  'SELECT COUNT(*) AS n FROM kmip_pending WHERE owner = ? AND expires_at > ?',
)
const settle = query<[result: Uint8Array, expiresAt: number, id: string], unknown>(
  'UPDATE kmip_pending SET result = ?, expires_at = ? WHERE id = ? AND result IS NULL',
)
const cancel = query<[id: string], unknown>('DELETE FROM kmip_pending WHERE id = ? AND result IS NULL')
const sweep = query<[now: number], unknown>('DELETE FROM kmip_pending WHERE expires_at <= ?')

export function insertPending(row: Omit<PendingRow, 'result'>): Change {
  return change(insert, [row.id, row.owner, row.operation, row.expires_at], 1)
}

/** The row with this id if it is `owner`'s and has not expired. */
export async function findPending(
  db: Database,
  id: string,
  owner: string,
  now: number,
): Promise<PendingRow | undefined> {
  return db.get(byId, [id, owner, now])
}

/** The requests of a user that are pending or wait to be fetched, oldest first, at most `most`. */
export async function listPending(
  db: Database,
  owner: string,
  now: number,
  limit: number,
): Promise<readonly PendingSummary[]> {
  return db.all(selectByOwner, [owner, now, limit])
}

/** How many requests of a user are pending or wait to be fetched. */
export async function countPending(db: Database, owner: string, now: number): Promise<number> {
  return Number((await db.get(ownerCountQuery, [owner, now]))?.n ?? 0)
}

/** Writes the answer; the guard fails when the request was cancelled or is answered already. */
export function settlePending(id: string, result: Uint8Array, expiresAt: number): Change {
  return change(settle, [result, expiresAt, id], 1)
}

/** Cancels a request; the guard fails when it is answered. */
export function cancelPending(id: string): Change {
  return change(cancel, [id], 1)
}

/** Deletes requests and answers that have expired. */
export function sweepPending(now: number): Change {
  return change(sweep, [now])
}
