import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import type { HsmForm } from './hsm-key.ts'

// A row for each key in an HSM that this service created or registered. It is written before the key is created, and stays
// until the key is removed from the HSM, so that a failure at any step leaves no key there that nothing refers to.

/** Creates the table. */
export const hsmKeyStatements: readonly string[] = [
  `CREATE TABLE hsm_key (
    id TEXT NOT NULL PRIMARY KEY, object_id TEXT NOT NULL, hsm TEXT NOT NULL, class TEXT NOT NULL,
    label TEXT NOT NULL, key_id TEXT NOT NULL, due_at BIGINT)`,
  'CREATE UNIQUE INDEX hsm_key_by_key ON hsm_key (hsm, class, label, key_id)',
  'CREATE INDEX hsm_key_by_object ON hsm_key (object_id)',
  'CREATE INDEX hsm_key_by_due ON hsm_key (due_at)',
]

/** A key in an HSM, and the object that it belongs to. */
export interface HsmKeyRow {
  readonly id: string
  readonly object_id: string
  readonly hsm: string
  readonly class: 'secret' | 'private'
  readonly label: string
  /** CKA_ID, hexadecimal; empty if the key has none. */
  readonly key_id: string
  /** When the key is removed from the HSM. Unix milliseconds; null = its object uses it. */
  readonly due_at: number | null
}

const columns = ['id', 'object_id', 'hsm', 'class', 'label', 'key_id', 'due_at'] as const
const insertRow = insertInto<readonly [string, string, string, string, string, string, number | null]>(
  'hsm_key',
  columns,
)
const keepRow = query<[id: string, due: number], unknown>(
  'UPDATE hsm_key SET due_at = NULL WHERE id = ? AND due_at = ?',
)
const claimRow = query<[next: number, id: string, due: number], unknown>(
  'UPDATE hsm_key SET due_at = ? WHERE id = ? AND due_at = ?',
)
const deleteRow = query<[id: string], unknown>('DELETE FROM hsm_key WHERE id = ?')
const dueOfObject = query<[now: number, object: string], unknown>(
  'UPDATE hsm_key SET due_at = ? WHERE object_id = ? AND due_at IS NULL',
)
const dueOfChain = query<[now: number, chain: string], unknown>(
  `UPDATE hsm_key SET due_at = ? WHERE due_at IS NULL
     AND object_id IN (SELECT id FROM managed_object WHERE chain_id = ?)`,
)
const dueRows = query<[now: number, limit: number], HsmKeyRow>(
  `SELECT ${columns.join(', ')} FROM hsm_key WHERE due_at <= ? ORDER BY due_at LIMIT ?`,
)
const rowsOfHsm = query<[hsm: string, limit: number], HsmKeyRow>(
  `SELECT ${columns.join(', ')} FROM hsm_key WHERE hsm = ? ORDER BY id LIMIT ?`,
)

/** @throws UniqueViolation from the commit for a key that an object has already */
export function insertHsmKey({ id, object_id, hsm, class: kind, label, key_id, due_at }: HsmKeyRow): Change {
  return change(insertRow, [id, object_id, hsm, kind, label, key_id, due_at], 1)
}

/** Assigns the key to its object; the commit fails if the removal of the key has begun. */
export function keepHsmKey({ id, due_at }: HsmKeyRow): Change {
  return change(keepRow, [id, due_at ?? 0], 1)
}

/** Claims a due key for removal: until `next` no other node can claim it, and its object can no longer be created. */
export function claimHsmKey({ id, due_at }: HsmKeyRow, next: number): Change {
  return change(claimRow, [next, id, due_at ?? 0], 1)
}

export function deleteHsmKey({ id }: HsmKeyRow): Change {
  return change(deleteRow, [id])
}

/**
 * Schedules the removal of the keys of an object that is destroyed, removed or replaced; has no effect on objects
 * without keys in an HSM.
 */
export function releaseHsmKey(
  { id, form }: { readonly id: string; readonly form: { readonly hsm?: HsmForm } },
  now: number,
): readonly Change[] {
  return form.hsm === undefined ? [] : [change(dueOfObject, [now, id])]
}

/** Schedules the removal of the keys of all versions of a key. It must precede the deletion of these versions. */
export function releaseHsmKeys(chain: string, now: number): Change {
  return change(dueOfChain, [now, chain])
}

export async function listDueHsmKeys(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly HsmKeyRow[]> {
  return db.all(dueRows, [now, limit])
}

/** Known keys of an HSM, at most `limit`. */
export async function listHsmKeys(db: Database, hsm: string, limit: number): Promise<readonly HsmKeyRow[]> {
  return db.all(rowsOfHsm, [hsm, limit])
}
