import { type Change, change, type Database, query, type Seal, type SealContext } from '@warder/storage'

/** A restored backup that waits for crypto officers, or waited. */
export interface RestoreHold {
  /** SHA-256 of the file of the backup, in lower-case hexadecimal digits. */
  readonly backup: string
  /** When the backup was made, and restored. Unix milliseconds. */
  readonly madeAt: number
  readonly restoredAt: number
  readonly state: 'held' | 'released'
  /** The request for approval that a start made last. */
  readonly request: string
}

interface Row {
  readonly record: Uint8Array
  readonly version: number
}

/** Topic of the hold: it has one key. */
export const holdTopic = 'restore_hold'
export const holdKey = 'restore'

export const holdVersion = query<[key: string], { readonly version: number }>(
  'SELECT version FROM restore_hold WHERE id = ?',
)
const find = query<[id: string], Row>('SELECT record, version FROM restore_hold WHERE id = ?')
const insert = query<[id: string, record: Uint8Array], unknown>(
  'INSERT INTO restore_hold (id, record, version) VALUES (?, ?, 1) ON CONFLICT DO NOTHING',
)
const replace = query<[record: Uint8Array, id: string, version: number], unknown>(
  'UPDATE restore_hold SET record = ?, version = version + 1 WHERE id = ? AND version = ?',
)

const place: SealContext = { table: 'restore_hold', row: holdKey, column: 'record' }

const remove = query<[id: string], unknown>('DELETE FROM restore_hold WHERE id = ?')

/** A hold, and the version of its row. */
export interface StoredHold {
  readonly value: RestoreHold
  readonly version: number
}

/** undefined: nothing was restored that takes approvals. @throws when the record is not one that this service wrote */
export async function findHold(db: Database, seal: Pick<Seal, 'open'>): Promise<StoredHold | undefined> {
  const row = await db.get(find, [holdKey])
  if (row === undefined) return undefined
  const text = Buffer.from(await seal.open(place, row.record)).toString('utf8')
  return { value: JSON.parse(text) as RestoreHold, version: row.version }
}

/** Fails when another node was faster. @param before undefined = there is none yet */
export function holdChanges(
  db: Database,
  seal: Seal,
  value: RestoreHold,
  before: StoredHold | undefined,
): readonly Change[] {
  const record = seal.seal(place, Buffer.from(JSON.stringify(value)))
  const written =
    before === undefined
      ? change(insert, [holdKey, record], 1)
      : change(replace, [record, holdKey, before.version], 1)
  return [written, db.changed(holdTopic, holdKey)]
}

export function removeHold(): Change {
  return change(remove, [holdKey])
}
