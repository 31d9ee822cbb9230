import pg from 'pg'
import { StartupError } from '../errors/index.ts'
import { StorageUnavailable } from './errors.ts'
import { transactions } from './postgres-commit.ts'
import { classify } from './postgres-errors.ts'
import { channel, type Listeners, listenForChanges, tell } from './postgres-feed.ts'
import { asked, parserOf } from './postgres-statement.ts'
import { query } from './query.ts'
import type { Database, Query, SqlValue } from './types.ts'

export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database?sslmode=verify-full&sslrootcert=…` */
  readonly url: string
  /** Connections for statements that stand alone (pipelined); default 2. */
  readonly readers?: number
  /** Connections for commits of several changes; default 6. */
  readonly writers?: number
}

const statementTimeoutMs = 15_000
const connectTimeoutMs = 10_000
const nothing = query<[], { one: number }>('SELECT 1 AS one')
/** Its parameter is `topic:key`. */
const notify: Query<readonly SqlValue[], unknown> = query(`SELECT pg_notify('${channel}', ?)`)

/**
 * PostgreSQL, or an engine that speaks its protocol. Statements that stand alone are pipelined over a few
 * connections; a commit of several changes is one transaction that never waits for anything but the database.
 * @throws StartupError when it cannot be reached
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const config: pg.PoolConfig = {
    connectionString: options.url,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    keepAlive: true,
    types: { getTypeParser: parserOf as never },
    application_name: 'warder',
  }
  const readers = await Promise.all(
    Array.from({ length: options.readers ?? 2 }, () =>
      startReader({ ...config, pipeline: true } as pg.ClientConfig),
    ),
  )
  const pool = new pg.Pool({ ...config, max: options.writers ?? 6 })
  // An idle connection that is lost is not an error of anybody's request: the pool makes another.
  pool.on('error', () => undefined)
  // The pool listens to idle connections only: one that is lost during a commit would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const listeners: Listeners = new Map()
  const feed = listenForChanges(config, listeners)
  const commit = transactions(pool)
  let turn = 0

  const run = async (
    statement: Query<readonly SqlValue[], unknown>,
    params: readonly SqlValue[],
  ): Promise<pg.QueryResult> => {
    turn = (turn + 1) % readers.length
    const reader = readers[turn]
    if (reader === undefined) throw new StorageUnavailable('no connection')
    try {
      return await reader.query(asked(statement, params))
    } catch (error) {
      throw classify(error)
    }
  }

  return {
    dialect: 'postgresql',
    async get<P extends readonly SqlValue[], R>(statement: Query<P, R>, params: P): Promise<R | undefined> {
      const { rows } = await run(statement as Query<readonly SqlValue[], unknown>, params)
      return rows[0] as R | undefined
    },
    async all<P extends readonly SqlValue[], R>(statement: Query<P, R>, params: P): Promise<readonly R[]> {
      const { rows } = await run(statement as Query<readonly SqlValue[], unknown>, params)
      return rows as readonly R[]
    },
    async commit(changes) {
      const results = await commit(changes)
      // What follows the acknowledgement here must not use what was read before: the notice comes back some time later.
      for (const { query: statement, params } of changes)
        if (statement === notify) tell(listeners, String(params[0]))
      return results
    },
    changed: (topic, key) => ({
      query: notify,
      params: [`${topic}:${key}`],
    }),
    watch(topic, listener) {
      const known = listeners.get(topic) ?? new Set()
      listeners.set(topic, known.add(listener))
      return () => known.delete(listener)
    },
    async ping() {
      const began = performance.now()
      await run(nothing as unknown as Query<readonly SqlValue[], unknown>, [])
      return performance.now() - began
    },
    async close() {
      feed.close()
      await Promise.all([pool.end(), ...readers.map((reader) => reader.end())])
    },
  }
}

interface Reader {
  query(statement: pg.QueryConfig): Promise<pg.QueryResult>
  end(): Promise<void>
}

/** A connection that is made again when it is lost; what was under way on it fails. */
async function startReader(config: pg.ClientConfig): Promise<Reader> {
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
    throw new StartupError(
      `database_url: cannot reach PostgreSQL: ${error instanceof Error ? error.message : error}`,
    )
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
