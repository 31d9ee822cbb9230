import { existsSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { countTable } from './commit-count-store.ts'
import { change, query } from './query.ts'
import { openConnection } from './sqlite-connection.ts'
import type { Change, Database, SqlValue } from './types.ts'

// All rows of a database, of every table and engine: for backups and for moving between engines.

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly string[]
}

export type CopiedRow = readonly SqlValue[]

/** Contents of a database at one moment. */
export interface DatabaseSnapshot {
  readonly tables: readonly CopiedTable[]
  /** Number of rows of all tables; an estimate if counting would read them all. */
  count(): Promise<number>
  /** In batches, the values of a row in the order of the columns. */
  rows(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>
  close(): Promise<void>
}

/** The table that marks a restore under way. */
const marker = 'restore_under_way'
/** Table that a restore leaves for the first start: see `restored-store.ts`. */
export const restoredTable = 'restored_backup'
/** Rows read at once. */
export const batchRows = 100
/** Tables that are not copied: the restored database counts its own commits, and leases belong to running nodes. */
const leftOut: ReadonlySet<string> = new Set([countTable, 'lease', marker, restoredTable])

/**
 * A snapshot of a SQLite database, also while a service uses it: a reader that writers do not wait for.
 * @throws StartupError when there is no such file
 */
export function openSqliteSnapshot(path: string): DatabaseSnapshot {
  if (!existsSync(path)) throw new StartupError(`the database ${path} does not exist`)
  const db = openConnection(path, true)
  db.exec('BEGIN')
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    .all() as { readonly name: string }[]
  const tables = sortTableNames(names.map(({ name }) => name)).map((name) => ({
    name,
    columns: (db.prepare(`PRAGMA table_info(${quoteName(name)})`).all() as { readonly name: string }[]).map(
      (column) => column.name,
    ),
  }))
  return {
    tables,
    async count() {
      const counts = tables.map(({ name }) =>
        db.prepare(`SELECT count(*) AS n FROM ${quoteName(name)}`).get(),
      )
      return counts.reduce((sum, row) => sum + Number(row?.n), 0)
    },
    async *rows(table) {
      const statement = db.prepare(`SELECT ${formatColumns(table.columns)} FROM ${quoteName(table.name)}`)
      statement.setReturnArrays(true)
      let batch: CopiedRow[] = []
      for (const row of statement.iterate() as Iterable<unknown> as Iterable<CopiedRow>) {
        batch.push(row)
        if (batch.length < batchRows) continue
        yield batch
        batch = []
      }
      if (batch.length > 0) yield batch
    },
    async close() {
      db.exec('ROLLBACK')
      db.close()
    },
  }
}

/** Tables of a backup, without internal tables of the database. */
export function sortTableNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !leftOut.has(name)).sort()
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function formatColumns(columns: readonly string[]): string {
  return columns.map(quoteName).join(', ')
}

const identities = query<[], { readonly table_name: string; readonly column_name: string }>(
  `SELECT CAST(table_name AS TEXT) AS table_name, CAST(column_name AS TEXT) AS column_name
     FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'`,
)

/** On PostgreSQL, ids of new rows continue after those of the backup. SQLite does so by itself. */
export async function advanceIdentities(db: Database): Promise<readonly Change[]> {
  return (await db.all(identities, [])).map(({ table_name: table, column_name: column }) =>
    change(
      query<[], unknown>(
        `SELECT setval(pg_get_serial_sequence('${quoteName(table)}', '${column}'), COALESCE(MAX(${quoteName(column)}), 0) + 1, false) FROM ${quoteName(table)}`,
      ),
      [],
    ),
  )
}

/** Parameters of one statement; SQLite accepts 32,766 of them. */
const maxParameters = 2000

/** Takes the rows that migrations put into a table of a new database. */
export function deleteAllRows(table: CopiedTable): Change {
  return change(query<[], unknown>(`DELETE FROM ${quoteName(table.name)}`), [])
}

/** On PostgreSQL. Triggers do not fire for rows of the backup, since it contains the rows that they wrote. */
export function switchTriggers({ name }: CopiedTable, to: 'DISABLE' | 'ENABLE'): Change {
  return change(query<[], unknown>(`ALTER TABLE ${quoteName(name)} ${to} TRIGGER USER`), [])
}

/** Makes the changes that put rows into a table: as few statements as they fit in. */
export function createInsertion(table: CopiedTable): (rows: readonly CopiedRow[]) => readonly Change[] {
  const each = Math.max(1, Math.floor(maxParameters / table.columns.length))
  const statementFor = (count: number) => {
    const marks = `(${table.columns.map(() => '?').join(', ')})`
    const values = Array.from({ length: count }, () => marks).join(', ')
    return query<readonly SqlValue[], unknown>(
      `INSERT INTO ${quoteName(table.name)} (${formatColumns(table.columns)}) VALUES ${values}`,
    )
  }
  const fullStatement = statementFor(each)
  return (rows) => {
    const changes: Change[] = []
    for (let at = 0; at < rows.length; at += each) {
      const some = rows.slice(at, at + each)
      const statement = some.length === each ? fullStatement : statementFor(some.length)
      changes.push(change(statement, some.flat(), some.length))
    }
    return changes
  }
}

// A restore that has not come to its end: its table is made first and dropped last.

const makeMarker = query<[], unknown>(`CREATE TABLE ${marker} (since TEXT NOT NULL)`)
const dropMarker = query<[], unknown>(`DROP TABLE ${marker}`)
const tableNames = {
  sqlite: query<[], { readonly name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'",
  ),
  postgresql: query<[], { readonly name: string }>(
    "SELECT CAST(table_name AS TEXT) AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
  ),
} as const

async function listTables(db: Database): Promise<readonly string[]> {
  return (await db.all(tableNames[db.dialect], [])).map(({ name }) => name)
}

/** Whether a restore into this database has begun and not ended. */
export async function isRestoreUnderWay(db: Database): Promise<boolean> {
  return (await listTables(db)).includes(marker)
}

const finishedAt = query<[], { readonly restored_at: number }>(`SELECT restored_at FROM ${restoredTable}`)

/**
 * Says that a restore begins. The remains of an interrupted copy are removed.
 * @param interruptedAt of the interrupted restore: a database that it has finished is one that no service has
 *   used
 * @throws StartupError when the database is not empty
 */
export async function beginRestore(db: Database, interruptedAt?: number): Promise<void> {
  const names = await listTables(db)
  const isItsWork = async (): Promise<boolean> =>
    interruptedAt !== undefined &&
    names.includes(restoredTable) &&
    (await db.get(finishedAt, []))?.restored_at === interruptedAt
  if (names.includes(marker) || (await isItsWork())) {
    const others = names.filter((name) => name !== marker)
    await db.commit(
      [...others, ...names.filter((name) => name === marker)].map((name) =>
        change(query<[], unknown>(`DROP TABLE ${quoteName(name)}`), []),
      ),
    )
  } else if (names.length > 0)
    throw new StartupError(
      'the database is not empty, and a restore overwrites nothing: use an empty database',
    )
  await db.commit([change(makeMarker, [])])
}

/** Part of the last commit of a restore. */
export function dropRestoreMarker(): Change {
  return change(dropMarker, [])
}

const migrations = query<[], { readonly component: string; readonly number: number }>(
  'SELECT component, MAX(number) AS number FROM schema_migration GROUP BY component ORDER BY component',
)

/** Which shape a database has: of each component, the newest migration that was carried out. */
export async function readSchema(db: Database): Promise<Readonly<Record<string, number>>> {
  const rows = await db.all(migrations, [])
  return Object.fromEntries(rows.map(({ component, number }) => [component, number]))
}
