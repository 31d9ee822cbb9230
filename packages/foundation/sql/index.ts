import type { PostgresOptions } from './postgres.ts'
import type { Database } from './types.ts'

export { createRowCache, type RowCacheOptions } from './cache.ts'
export {
  commitCountMigrations,
  isEmptyDatabase,
  raiseCommitCount,
  readCommitCount,
} from './commit-count-store.ts'
export { GuardFailed, OutcomeUnknown, StorageUnavailable, UniqueViolation } from './errors.ts'
export { holdLease, leaseMigrations } from './lease.ts'
export { migrate } from './migrate.ts'
export type { PostgresLimits, PostgresOptions } from './postgres.ts'
export { change, insertInto, query } from './query.ts'
export { readOne } from './read.ts'
export { retryOnGuard } from './retry.ts'
export { openSqlite } from './sqlite.ts'
export { type SqliteWriter, startSqliteWriter } from './sqlite-writer.ts'
export type * from './types.ts'
export { createUnchangedRows, type UnchangedRows } from './unchanged.ts'

/** See `postgres.ts`; its client library is loaded only where PostgreSQL is used. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const postgres = await import('./postgres.ts')
  return postgres.openPostgres(options)
}
