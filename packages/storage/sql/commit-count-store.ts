import { change, query } from './query.ts'
import type { Change, Database, Migration, Row } from './types.ts'

/**
 * Counts the commits of a database, in the transaction of each. The number is the sum of the slots: SQLite has one
 * writer and uses one slot; on PostgreSQL one row would let no two commits be under way at once
 * (docs/adr/rollback-detection.md).
 */
export const commitCountMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'commit count',
    statements: ['CREATE TABLE commit_count (slot BIGINT NOT NULL PRIMARY KEY, number BIGINT NOT NULL)'],
  },
]

const conflict = 'ON CONFLICT (slot) DO UPDATE SET number = commit_count.number +'
/** Part of every transaction on SQLite. */
export const countOnSqlite = `INSERT INTO commit_count (slot, number) VALUES (0, 1) ${conflict} 1`
/** Part of every transaction on PostgreSQL: connections that commit at the same time have slots of their own. */
export const countOnPostgres = `INSERT INTO commit_count (slot, number) VALUES (pg_backend_pid() % 64, 1) ${conflict} 1`
const raise = query<[number: number, more: number], Row>(
  `INSERT INTO commit_count (slot, number) VALUES (0, ?) ${conflict} ?`,
)

const sum = query<[], { readonly number: number }>(
  'SELECT CAST(COALESCE(SUM(number), 0) AS BIGINT) AS number FROM commit_count',
)
/** One row when there is a table of this name. */
export const tableNamed = {
  sqlite: "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?",
  postgresql:
    'SELECT 1 AS found FROM pg_catalog.pg_class WHERE oid = to_regclass(?) AND pg_catalog.pg_table_is_visible(oid)',
} as const
const named = {
  sqlite: query<[name: string], { readonly found: number }>(tableNamed.sqlite),
  postgresql: query<[name: string], { readonly found: number }>(tableNamed.postgresql),
}

/** The table that `commitCountMigrations` makes. */
export const countTable = 'commit_count'

export async function hasTable(db: Database, name: string): Promise<boolean> {
  return (await db.get(named[db.dialect], [name])) !== undefined
}

/** Whether nothing has ever been written to the database. */
export async function isEmptyDatabase(db: Database): Promise<boolean> {
  return !(await hasTable(db, 'schema_migration'))
}

/** Commits so far, all of them durable; undefined = they were never counted. */
export async function readCommitCount(db: Database): Promise<number | undefined> {
  if (!(await hasTable(db, countTable))) return undefined
  return (await db.get(sum, []))?.number ?? 0
}

/** Adds to the count, so that no older state of the database reaches it. */
export function raiseCommitCount(by: number): Change {
  return change(raise, [by, by])
}
