import type { DatabaseSnapshot } from './logical-copy-store.ts'
import type { PostgresOptions } from './postgres.ts'
import type { SessionOptions } from './postgres-session.ts'
import type { Database } from './types.ts'

export { createRowCache, type RowCacheOptions } from './cache.ts'
export {
  commitCountMigrations,
  hasTable,
  isEmptyDatabase,
  raiseCommitCount,
  readCommitCount,
} from './commit-count-store.ts'
export { readConnectionLimit } from './connection-room-store.ts'
export { findUnsafeSettings } from './durability-store.ts'
export { GuardFailed, OutcomeUnknown, StorageUnavailable, UniqueViolation } from './errors.ts'
export { holdLease, leaseMigrations } from './lease.ts'
export {
  beginRestore,
  type CopiedRow,
  type CopiedTable,
  createInsertion,
  type DatabaseSnapshot,
  deleteAllRows,
  dropRestoreMarker,
  isRestoreUnderWay,
  openSqliteSnapshot,
  readSchema,
} from './logical-copy-store.ts'
export { type AheadMigration, type MigrationPlan, migrate, planMigration, requireUsable } from './migrate.ts'
export { schemaMigrations } from './older-programs-store.ts'
export type { PostgresLimits, PostgresOptions } from './postgres.ts'
export { change, insertInto, query } from './query.ts'
export { readOne } from './read.ts'
export { findRestored, forgetRestored, insertRestored } from './restored-store.ts'
export { retryOnGuard } from './retry.ts'
export { openSqlite } from './sqlite.ts'
export { getDatabaseBytes } from './sqlite-files.ts'
export { fillSqlite } from './sqlite-filling-store.ts'
export { type SqliteWriter, startSqliteWriter } from './sqlite-writer.ts'
export type * from './types.ts'
export { createUnchangedRows, type UnchangedRows } from './unchanged.ts'

/** See `postgres.ts`; its client library is loaded only where PostgreSQL is used. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const postgres = await import('./postgres.ts')
  return postgres.openPostgres(options)
}

/** See `postgres-snapshot-store.ts`. */
export async function openPostgresSnapshot(options: SessionOptions): Promise<DatabaseSnapshot> {
  const { createPostgresSnapshot } = await import('./postgres-snapshot-store.ts')
  return createPostgresSnapshot(options)
}

/** See `postgres-restore-lock-store.ts`. */
export async function lockForRestore(options: SessionOptions): Promise<() => Promise<void>> {
  const lock = await import('./postgres-restore-lock-store.ts')
  return lock.lockForRestore(options)
}
