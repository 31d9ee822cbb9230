import { StartupError } from '@warder/base'
import {
  batchRows,
  type CopiedRow,
  type CopiedTable,
  type DatabaseSnapshot,
  formatColumns,
  quoteName,
  sortTableNames,
} from './logical-copy-store.ts'
import { openPostgresSession, type SessionOptions } from './postgres-session.ts'
import { classify } from './postgres-statement.ts'

/**
 * A snapshot of a PostgreSQL database: one read-only transaction, which blocks no other transaction.
 * @throws StorageUnavailable when it cannot be reached
 */
export async function createPostgresSnapshot(options: SessionOptions): Promise<DatabaseSnapshot> {
  const client = await openPostgresSession(options, 'warder backup')
  const ask = async <Row extends CopiedRow>(text: string): Promise<Row[]> => {
    try {
      return (await client.query<Row>({ text, rowMode: 'array' } as never)).rows
    } catch (error) {
      throw classify(error)
    }
  }
  await ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  await ask('SET LOCAL statement_timeout = 0')
  await ask('SET LOCAL idle_in_transaction_session_timeout = 0')
  const columns = await ask<readonly [table: string, column: string]>(
    `SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT) FROM information_schema.columns c
       JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
      WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position`,
  )
  const names = [...new Set(columns.map(([table]) => table))]
  const tables: readonly CopiedTable[] = sortTableNames(names).map((name) => ({
    name,
    columns: columns.filter(([table]) => table === name).map(([, column]) => column),
  }))
  return {
    tables,
    async count() {
      const [row] = await ask<readonly [rows: number]>(
        `SELECT CAST(COALESCE(sum(GREATEST(reltuples, 0)), 0) AS BIGINT) FROM pg_class
          WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'`,
      )
      return Number(row?.[0])
    },
    async *rows(table) {
      await ask(
        `DECLARE copied NO SCROLL CURSOR FOR SELECT ${formatColumns(table.columns)} FROM ${quoteName(table.name)}`,
      )
      for (;;) {
        const rows = await ask(`FETCH ${batchRows} FROM copied`)
        if (rows.length > 0) yield rows
        if (rows.length < batchRows) break
      }
      await ask('CLOSE copied')
    },
    async close() {
      await client.end()
    },
  }
}

/** A number that is used for no other advisory lock of the same database. */
const lockNumber = 7_223_190_421

/**
 * Locks a database against other restores. The lock belongs to a database session, so PostgreSQL releases it when the
 * process ends, also when it is killed.
 * @returns a function that releases the lock
 * @throws StartupError when another restore has it
 */
export async function lockForRestore(options: SessionOptions): Promise<() => Promise<void>> {
  const client = await openPostgresSession(options, 'warder restore')
  const release = (): Promise<void> => client.end().catch(() => undefined)
  try {
    const { rows } = await client.query<{ readonly taken: boolean }>(
      `SELECT pg_try_advisory_lock(${lockNumber}) AS taken`,
    )
    if (rows[0]?.taken === true) return release
  } catch (error) {
    await release()
    throw classify(error)
  }
  await release()
  throw new StartupError('another restore into this database is running')
}
