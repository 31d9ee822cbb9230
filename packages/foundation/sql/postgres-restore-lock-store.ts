import { StartupError } from '../errors/index.ts'
import { classify } from './postgres-errors.ts'
import { openPostgresSession, type SessionOptions } from './postgres-session.ts'

/** Any number that nobody else uses for an advisory lock of the same database. */
const lockNumber = 7_223_190_421

/**
 * Keeps other restores away from a database, for as long as the session lives: a process that is killed lets go of it.
 * @returns what lets go
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
  throw new StartupError('another restore into this database is under way')
}
