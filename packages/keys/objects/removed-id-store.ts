import { type Change, change, type Database, query, type SqlValue } from '@warder/storage'
import type { ChosenId } from './managed-object.ts'
import { hasServiceForm, isIdMadeBetween, type ObjectId } from './object-id.ts'

// A row for each removed object: its id stays reserved for its last owner (docs/adr/identifiers-and-aliases.md).

const reserve = query<[id: string, owner: string, now: number], unknown>(
  `INSERT INTO removed_object (id, owner, removed_at) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, removed_at = excluded.removed_at`,
)
const reserveChain = query<[now: number, chain: string], unknown>(
  `INSERT INTO removed_object (id, owner, removed_at) SELECT id, owner, ? FROM managed_object WHERE chain_id = ?
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, removed_at = excluded.removed_at`,
)
const ownerById = query<[id: string], { readonly owner: string }>(
  'SELECT owner FROM removed_object WHERE id = ?',
)
const requireNotOthers = query<[id: string, owner: string], unknown>(
  'UPDATE removed_object SET removed_at = removed_at WHERE id = ? AND owner <> ?',
)
const requireOwn = query<[id: string, owner: string], unknown>(
  'UPDATE removed_object SET removed_at = removed_at WHERE id = ? AND owner = ?',
)
const move = query<[to: string, from: string], unknown>('UPDATE removed_object SET owner = ? WHERE owner = ?')
const countChosen = query<readonly SqlValue[], { readonly count: number }>(
  `SELECT COUNT(*) AS count FROM (SELECT 1 FROM removed_object
     WHERE owner = ? AND id NOT LIKE '________-____-7___-____-____________' LIMIT ?) chosen`,
)
const forgotten = query<[], { readonly before_at: number }>(
  "SELECT before_at FROM removed_forgotten WHERE id = 'removed'",
)
const forgetBefore = query<[before: number, before: number], unknown>(
  "UPDATE removed_forgotten SET before_at = ? WHERE id = 'removed' AND before_at < ?",
)
const oldestKept = query<[kept: number], { readonly removed_at: number }>(
  `SELECT removed_at FROM removed_object WHERE id LIKE '________-____-7___-____-____________'
     ORDER BY removed_at DESC LIMIT 1 OFFSET ?`,
)
const sweep = query<[before: number], unknown>(
  "DELETE FROM removed_object WHERE id LIKE '________-____-7___-____-____________' AND removed_at < ?",
)

/**
 * Removed identifiers of one owner that clients chose; then the owner can choose no more identifiers. They
 * are never forgotten.
 */
const maxChosen = 100_000

/**
 * Removed identifiers in the form of the service that are remembered, the newest: their owners can restore the objects.
 * Clients cannot choose this form, and Import accepts none that may be forgotten.
 */
const maxOwnForm = 100_000

/** Reserves the identifier of an object that the same commit removes. */
export function reserveId(id: string, owner: string, now: number): Change {
  return change(reserve, [id, owner, now])
}

/** Reserves the identifiers of all versions of a key; precedes their removal. */
export function reserveChainIds(chain: string, now: number): Change {
  return change(reserveChain, [now, chain])
}

/** Owner of the object that had this identifier; undefined: no object had it, or it is forgotten. */
export async function formerOwner(db: Database, id: ObjectId): Promise<string | undefined> {
  return (await db.get(ownerById, [id]))?.owner
}

/** Whether an owner may choose one more identifier. */
export async function hasRoomToChoose(db: Database, owner: string): Promise<boolean> {
  return ((await db.get(countChosen, [owner, maxChosen]))?.count ?? 0) < maxChosen
}

/**
 * Whether no object can have had this identifier, which has the form of the service and no reservation: all
 * removals since its time are still remembered.
 */
export async function isKnownUnused(db: Database, id: ObjectId, now: number): Promise<boolean> {
  const before = (await db.get(forgotten, []))?.before_at
  return before !== undefined && isIdMadeBetween(id, before, now)
}

/** Makes a commit fail that would choose the identifier of another owner's removed object; follows the insertion. */
export function guardChosenId(id: string, { by, isMoved }: ChosenId): Change {
  const ownOnly = hasServiceForm(id) && !isMoved
  return ownOnly ? change(requireOwn, [id, by], 1) : change(requireNotOthers, [id, by], 0)
}

/** Reservations follow the objects of an owner. */
export function moveReservations(from: string, to: string): Change {
  return change(move, [to, from])
}

/** Bounds the reservations that can be forgotten. */
export async function sweepReservations(db: Database): Promise<readonly Change[]> {
  const oldest = await db.get(oldestKept, [maxOwnForm])
  if (oldest === undefined) return []
  const before = oldest.removed_at
  return [...forgetReservations(before), change(sweep, [before])]
}

/** Identifiers that were given before this moment may have been those of objects that nothing is known of. */
export function forgetReservations(before: number): readonly Change[] {
  return [change(forgetBefore, [before, before])]
}
