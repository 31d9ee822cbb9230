import type pg from 'pg'
import { parsePostgresUrl } from '../postgres/address.ts'
import { createPostgresClients } from '../postgres/clients.ts'
import type { PostgresOptions } from './postgres.ts'
import { classify, getTypeParser } from './postgres-statement.ts'

/** Which database, as for `openPostgres`. */
export type SessionOptions = Pick<PostgresOptions, 'url' | 'passwordFile' | 'folder'>

const connectWithinMs = 10_000

/**
 * Opens a separate connection for state that lasts as long as its session. The caller must end it.
 * @param name that the server shows for it
 * @throws StorageUnavailable when the database cannot be reached
 */
export async function openPostgresSession(
  { url, passwordFile, folder }: SessionOptions,
  name: string,
): Promise<pg.Client> {
  const address = parsePostgresUrl(url)
  const clients = createPostgresClients({
    address,
    passwordFile,
    folder,
    memory: undefined,
    connectTimeoutMs: address.connectTimeoutMs ?? connectWithinMs,
    config: { types: { getTypeParser: getTypeParser as never }, application_name: name, keepAlive: true },
    log: undefined,
  })
  try {
    return await clients.retry(async () => {
      const fresh = new clients.Client()
      fresh.on('error', () => undefined)
      await fresh.connect()
      return fresh
    })
  } catch (error) {
    throw classify(error)
  }
}
