import { existsSync } from 'node:fs'
import { type AuditLog, createOwnEvent, type KnownCommits } from '@warder/audit'
import { StartupError } from '@warder/base'
import { type Database, isEmptyDatabase, raiseCommitCount, readCommitCount } from '@warder/storage'
import type { DatabaseLocation } from './database.ts'

/** The difference between a database and the one that the audit log knows. */
export interface Rollback {
  readonly state: 'missing' | 'behind'
  /** Commits that the log knows of. */
  readonly known: number | undefined
  /** Commits that the database has. */
  readonly found: number
}

/** Before anything is created: whether the file of a database that was used is missing. */
export function findMissingFile(
  location: DatabaseLocation,
  { used, commits }: KnownCommits,
): Rollback | undefined {
  const missing = used && location.kind === 'sqlite' && !existsSync(location.path)
  return missing ? { state: 'missing', known: commits, found: 0 } : undefined
}

/**
 * Compares the database with the log before either is written. A database that is ahead is correct: its last commits
 * followed the last record (docs/adr/rollback-detection.md). Without counted commits the database is accepted.
 */
export async function findRollback(
  db: Database,
  { used, commits: known }: KnownCommits,
): Promise<Rollback | undefined> {
  if (!used) return undefined
  if (await isEmptyDatabase(db)) return { state: 'missing', known, found: 0 }
  const found = (await readCommitCount(db)) ?? 0
  return known !== undefined && found < known ? { state: 'behind', known, found } : undefined
}

/** @throws StartupError that describes the correction */
export function refuseRollback(
  service: string,
  folder: string,
  location: DatabaseLocation,
  rollback: Rollback,
): never {
  const name = location.kind === 'sqlite' ? `the database ${location.path}` : 'the PostgreSQL database'
  const { state, known, found } = rollback
  const copy =
    location.kind === 'sqlite' ? 'its newest copy, with the -wal file if there is one' : 'its newest copy'
  throw new StartupError(
    state === 'missing'
      ? `${service}: ${name} is missing or empty, but the audit log in ${folder} shows that it was used. Restore ` +
          `${copy}, or begin with an empty one: start once with --accept-rollback, which the audit log records`
      : `${service}: ${name} is older than its audit log: it has ${found} commits, but the log in ${folder} records ` +
          `${known}. Acknowledged changes are missing, and destroyed keys may work again. Restore ${copy}, or accept ` +
          'the loss: start once with --accept-rollback, which the audit log records',
  )
}

/**
 * Records that the operator accepted the rollback, then raises the count above the number in the log, so that no older copy
 * is accepted as this database. After a start that is killed in between, the next one is refused again.
 */
export async function acceptRollback(
  db: Database,
  audit: AuditLog | undefined,
  now: number,
  { state, known, found }: Rollback,
): Promise<void> {
  await audit?.trail.recordDurably({
    ...createOwnEvent(now, 'database.rollback_accepted'),
    details: { state, known_commits: known, found_commits: found },
  })
  const missing = (known ?? 0) + 1 - ((await readCommitCount(db)) ?? 0)
  if (missing > 0) await db.commit([raiseCommitCount(missing)])
}
