import { StartupError } from '@warder/base'
import type pg from 'pg'
import type { PostgresClients } from '../postgres/clients.ts'
import { getErrorMessage, isTransientError } from '../postgres/connection-errors.ts'
import { DatabaseUnreachable, StorageUnavailable } from './errors.ts'

export interface Reader {
  query(statement: pg.QueryConfig): Promise<pg.QueryResult>
  end(): Promise<void>
}

/**
 * A connection that is made again when it is lost, or when another host has become the primary; its running
 * statements fail.
 */
export async function startReader({ Client, retry, isOutdated }: PostgresClients): Promise<Reader> {
  let ending = false
  let client: Promise<pg.Client>
  const openOne = async (): Promise<pg.Client> => {
    const fresh = new Client({ pipeline: true })
    let connected = false
    fresh.on('error', () => undefined)
    fresh.once('end', () => {
      // One that could not be made is made again by the next statement, not over and over.
      if (ending || !connected) return
      renew()
    })
    await fresh.connect()
    connected = true
    return fresh
  }
  const renew = (): void => {
    client = retry(openOne)
    client.catch(() => undefined)
  }
  client = retry(openOne)
  try {
    await client
  } catch (error) {
    const message = `database_url: cannot reach PostgreSQL: ${getErrorMessage(error)}`
    throw isTransientError(error) ? new DatabaseUnreachable(message) : new StartupError(message)
  }
  /** One that is of use; of all that wait for it, one makes it anew. */
  const current = async (): Promise<pg.Client> => {
    const known = client
    const usable = await known.catch(() => undefined)
    if (usable !== undefined && !isOutdated(usable)) return usable
    if (client === known) renew()
    usable?.connection.stream.destroy()
    try {
      return await client
    } catch (error) {
      throw new StorageUnavailable(`PostgreSQL cannot be reached: ${getErrorMessage(error)}`, {
        cause: error,
      })
    }
  }
  return {
    query: async (statement) => (await current()).query(statement),
    async end() {
      ending = true
      await (await client.catch(() => undefined))?.end()
    },
  }
}
