import { StartupError } from '@warder/base'
import type { Reader } from './postgres-reader.ts'

type StatementClient = Pick<Reader, 'query'>

const processOfServer = 'SELECT pg_backend_pid() AS pid'
const rounds = 2
/** A connection that is lost and made again between two rounds changes its process, too. */
const attempts = 3

/**
 * Refuses a pooler that gives each transaction another connection of the server (PgBouncer with `pool_mode = transaction`,
 * and similar poolers). It would seem to work, but session locks would not be held, and notifications of changes not received.
 * @throws StartupError
 */
export async function requireOwnSessions(one: StatementClient, other: StatementClient): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) if (await haveOwnSessions(one, other)) return
  throw new StartupError(
    'database_url: a connection pooler in front of PostgreSQL changes the connection with each transaction; ' +
      'give the address of PostgreSQL itself, or let the pooler keep sessions (PgBouncer: pool_mode = session)',
  )
}

/** One after the other: a pooler then takes the same connection for both, or others for each in turn. */
async function haveOwnSessions(one: StatementClient, other: StatementClient): Promise<boolean> {
  const seen = [new Set<unknown>(), new Set<unknown>()]
  for (let round = 0; round < rounds; round += 1)
    for (const [index, asked] of [one, other].entries()) seen[index]?.add(await readProcessId(asked))
  const all = seen.flatMap((known) => [...known])
  return seen.every((known) => known.size === 1) && new Set(all).size === all.length
}

async function readProcessId(asked: StatementClient): Promise<unknown> {
  const { rows } = await asked.query({ text: processOfServer })
  return (rows[0] as { readonly pid?: unknown } | undefined)?.pid
}
