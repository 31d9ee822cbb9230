import { StartupError } from '@warder/base'
import { classify } from './postgres-errors.ts'
import { openPostgresSession, type SessionOptions } from './postgres-session.ts'

/** A number that is used for no other advisory lock of the same database. */
const lockNumber = 7_223_190_421

/**
 * Locks a database against other restores while the session lives: the lock of a killed process is released.
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
