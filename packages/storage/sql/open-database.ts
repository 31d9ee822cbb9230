import type { DatabaseSnapshot } from './logical-copy-store.ts'
import type { PostgresOptions } from './postgres.ts'
import type { SessionOptions } from './postgres-session.ts'
import type { Database } from './types.ts'

/** See `postgres.ts`; its client library is loaded only if PostgreSQL is used. */
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
  const lock = await import('./postgres-snapshot-store.ts')
  return lock.lockForRestore(options)
}
