import pg from 'pg'
import { StartupError } from '../errors/index.ts'
import { DatabaseAway } from './errors.ts'
import { isAway } from './postgres-errors.ts'

export interface Reader {
  query(statement: pg.QueryConfig): Promise<pg.QueryResult>
  end(): Promise<void>
}

/** A connection that is made again when it is lost; what was under way on it fails. */
export async function startReader(config: pg.ClientConfig): Promise<Reader> {
  let ending = false
  let client: Promise<pg.Client>
  const open = async (): Promise<pg.Client> => {
    const fresh = new pg.Client(config)
    let connected = false
    fresh.on('error', () => undefined)
    fresh.once('end', () => {
      // One that could not be made is made again by the next statement, not over and over.
      if (ending || !connected) return
      client = open()
      client.catch(() => undefined)
    })
    await fresh.connect()
    connected = true
    return fresh
  }
  client = open()
  try {
    await client
  } catch (error) {
    const message = `database_url: cannot reach PostgreSQL: ${messageOf(error)}`
    throw isAway(error) ? new DatabaseAway(message) : new StartupError(message)
  }
  return {
    async query(statement) {
      const known = client
      const current = await known.catch(() => {
        // Of all that wait for it, one makes it anew.
        if (client === known) {
          client = open()
          client.catch(() => undefined)
        }
        return client
      })
      return current.query(statement)
    },
    async end() {
      ending = true
      await (await client.catch(() => undefined))?.end()
    },
  }
}

/** Of an error of several addresses, which has no message of its own, the first one's. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
