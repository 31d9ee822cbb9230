import { hasTable } from './commit-count-store.ts'
import { restoredTable } from './logical-copy-store.ts'
import { change, query } from './query.ts'
import type { Change, Database, RestoredBackup } from './types.ts'

interface Row {
  readonly digest: string
  readonly made_at: number
  readonly restored_at: number
}

const make = query<[], unknown>(
  `CREATE TABLE ${restoredTable} (digest TEXT NOT NULL, made_at BIGINT NOT NULL, restored_at BIGINT NOT NULL)`,
)
const insert = query<[digest: string, madeAt: number, restoredAt: number], unknown>(
  `INSERT INTO ${restoredTable} (digest, made_at, restored_at) VALUES (?, ?, ?)`,
)
const find = query<[], Row>(`SELECT digest, made_at, restored_at FROM ${restoredTable}`)
const forget = query<[], unknown>(`DELETE FROM ${restoredTable}`)

/** Part of the last commit of a restore: shows the first start the origin of the rows. */
export function insertRestored({ digest, madeAt, restoredAt }: RestoredBackup): readonly Change[] {
  return [change(make, []), change(insert, [digest, madeAt, restoredAt])]
}

/** The backup that the database was filled from, until a start has recorded it; undefined: there is nothing to record. */
export async function findRestored(db: Database): Promise<RestoredBackup | undefined> {
  if (!(await hasTable(db, restoredTable))) return undefined
  const row = await db.get(find, [])
  return row && { digest: row.digest, madeAt: row.made_at, restoredAt: row.restored_at }
}

export function forgetRestored(): Change {
  return change(forget, [])
}
