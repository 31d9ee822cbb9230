import { type Change, change, type Database, query } from '@warder/storage'

// Objects whose material a key in an HSM wraps, and those to check after a change of their tags, owner or the settings.

/** Creates the column, the index and the tables. */
export const hsmWrappingStatements: readonly string[] = [
  'ALTER TABLE managed_object ADD COLUMN wrapping_key_id TEXT',
  `CREATE INDEX managed_object_by_wrapping_key ON managed_object (wrapping_key_id, id)
     WHERE wrapping_key_id IS NOT NULL`,
  'CREATE TABLE hsm_wrapping_due (id TEXT NOT NULL PRIMARY KEY, marks BIGINT NOT NULL)',
  `CREATE TABLE hsm_wrapping_walk (
    id TEXT NOT NULL PRIMARY KEY, rules TEXT NOT NULL, after_id TEXT, checked BIGINT NOT NULL,
    rewrapped BIGINT NOT NULL, failed BIGINT NOT NULL, started_at BIGINT NOT NULL, finished_at BIGINT,
    version BIGINT NOT NULL)`,
]

/** A key whose wrapping has to be checked. */
export interface WrappingMark {
  readonly id: string
  readonly marks: number
}

/** A check of the wrapping of all objects, in the order of their identifiers. */
export interface WrappingWalk {
  /** Rules of the settings, and the versions of their keys, when it began. */
  readonly rules: string
  /** The last object that was checked; null = the walk is finished. */
  readonly after_id: string | null
  readonly checked: number
  readonly rewrapped: number
  /** Objects whose wrapping could not be replaced. */
  readonly failed: number
  /** Unix milliseconds. */
  readonly started_at: number
  readonly finished_at: number | null
  readonly version: number
}

const row = 'all'
const columns = 'rules, after_id, checked, rewrapped, failed, started_at, finished_at, version'
const findWalk = query<[id: string], WrappingWalk>(`SELECT ${columns} FROM hsm_wrapping_walk WHERE id = ?`)
const insertWalk = query<[id: string, rules: string, now: number], unknown>(
  `INSERT INTO hsm_wrapping_walk (id, rules, after_id, checked, rewrapped, failed, started_at, finished_at, version)
     VALUES (?, ?, '', 0, 0, 0, ?, NULL, 1)`,
)
const updateWalk = query<
  readonly [string, string | null, number, number, number, number, number | null, string, number],
  unknown
>(
  `UPDATE hsm_wrapping_walk SET rules = ?, after_id = ?, checked = ?, rewrapped = ?, failed = ?, started_at = ?,
     finished_at = ?, version = version + 1 WHERE id = ? AND version = ?`,
)
const repeat = query<[id: string], unknown>(
  'UPDATE hsm_wrapping_walk SET finished_at = 0, version = version + 1 WHERE id = ? AND finished_at IS NOT NULL',
)
// Without a walk nothing was ever to be wrapped, so no row remains for ever.
const mark = query<[id: string], unknown>(
  `INSERT INTO hsm_wrapping_due (id, marks)
     SELECT CAST(? AS TEXT), 1 WHERE EXISTS (SELECT 1 FROM hsm_wrapping_walk)
     ON CONFLICT (id) DO UPDATE SET marks = hsm_wrapping_due.marks + 1`,
)
const markOfOwner = query<[id: string], unknown>(
  `INSERT INTO hsm_wrapping_due (id, marks) SELECT COALESCE(chain_id, id), 1 FROM managed_object
     WHERE id = ? AND EXISTS (SELECT 1 FROM hsm_wrapping_walk)
     ON CONFLICT (id) DO UPDATE SET marks = hsm_wrapping_due.marks + 1`,
)
const dueMarks = query<[limit: number], WrappingMark>(
  'SELECT id, marks FROM hsm_wrapping_due ORDER BY id LIMIT ?',
)
const unmark = query<[id: string, marks: number], unknown>(
  'DELETE FROM hsm_wrapping_due WHERE id = ? AND marks = ?',
)
const idsOfKey = query<
  [id: string, chain: string, linked: string, after: string, limit: number],
  { readonly id: string }
>(
  `SELECT id FROM managed_object WHERE material IS NOT NULL AND (id = ? OR chain_id = ? OR linked_id = ?)
     AND id > ? ORDER BY id LIMIT ?`,
)
const countOfKey = query<[key: string], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM managed_object WHERE wrapping_key_id = ?',
)
const countsByKey = query<[limit: number], { readonly key: string; readonly objects: number }>(
  `SELECT wrapping_key_id AS key, COUNT(*) AS objects FROM managed_object WHERE wrapping_key_id IS NOT NULL
     GROUP BY wrapping_key_id ORDER BY wrapping_key_id LIMIT ?`,
)

export async function findWrappingWalk(db: Database): Promise<WrappingWalk | undefined> {
  return db.get(findWalk, [row])
}

/** Begins the first walk. @throws UniqueViolation from the commit, if another node did */
export function beginFirstWalk(rules: string, now: number): Change {
  return change(insertWalk, [row, rules, now], 1)
}

/** Stores the progress, guarded by the version that was read. */
export function saveWalk(walk: WrappingWalk): Change {
  const {
    rules,
    after_id: after,
    checked,
    rewrapped,
    failed,
    started_at: from,
    finished_at: to,
    version,
  } = walk
  return change(updateWalk, [rules, after, checked, rewrapped, failed, from, to, row, version], 1)
}

/** All objects are checked again; nothing happens while they are, or if nothing was ever to be wrapped. */
export function repeatWalk(): Change {
  return change(repeat, [row])
}

/** The wrapping of a key, by the identifier of its chain, is checked within seconds: its tags change. */
export function markForWrapping(id: string): Change {
  return change(mark, [id])
}

/** The same for an object whose owner changes. */
export function markObjectForWrapping(id: string): Change {
  return change(markOfOwner, [id])
}

/** Nothing happens if the key was marked again meanwhile. */
export function unmarkForWrapping({ id, marks }: WrappingMark): Change {
  return change(unmark, [id, marks])
}

/** Keys whose wrapping has to be checked. */
export async function listMarkedForWrapping(db: Database, limit: number): Promise<readonly WrappingMark[]> {
  return db.all(dueMarks, [limit])
}

/** Objects with material of a key, greater than `after`: its versions, and the other half of a pair. */
export async function listIdsOfKey(
  db: Database,
  id: string,
  after: string,
  limit: number,
): Promise<readonly string[]> {
  return (await db.all(idsOfKey, [id, id, id, after, limit])).map((found) => found.id)
}

/** Objects whose material this version of a key wraps. */
export async function countWrappedBy(db: Database, key: string): Promise<number> {
  return (await db.get(countOfKey, [key]))?.count ?? 0
}

/** The same of all wrapping keys, at most `limit` of them. */
export async function countWrappedObjects(
  db: Database,
  limit: number,
): Promise<readonly { readonly key: string; readonly objects: number }[]> {
  return db.all(countsByKey, [limit])
}
