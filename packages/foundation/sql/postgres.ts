import { createHash } from 'node:crypto'
import pg from 'pg'
import { StartupError } from '../errors/index.ts'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import { query } from './query.ts'
import type { Change, ChangeResult, Commit, Database, Query, Row, SqlValue } from './types.ts'

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
/** Serialization failures and deadlocks are tried again this often. */
const mostRetries = 5
const reconnectAfterMs = [50, 200, 1000, 5000]
const channel = 'warder_changed'
const nothing = query<[], { one: number }>('SELECT 1 AS one')
const notify = query<[payload: string], unknown>(`SELECT pg_notify('${channel}', ?)`)

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
  const listeners = new Map<string, Set<(key: string | undefined) => void>>()
  const feed = listenForChanges(config, listeners)
  let turn = 0

  const run = async (
    statement: Query<readonly SqlValue[], unknown>,
    params: readonly SqlValue[],
  ): Promise<pg.QueryResult> => {
    turn = (turn + 1) % readers.length
    const reader = readers[turn]
    if (reader === undefined) throw new StorageUnavailable('no connection')
    try {
      return await reader.query({
        name: nameOf(statement),
        text: statement.numbered,
        values: params.map(toDriver),
      })
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
    commit: transactions(pool),
    changed: (topic, key) => ({
      query: notify as unknown as Query<readonly SqlValue[], unknown>,
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

function transactions(pool: pg.Pool): Commit {
  const once = async (changes: readonly Change[]): Promise<readonly ChangeResult[]> => {
    let client: pg.PoolClient
    try {
      client = await pool.connect()
    } catch (error) {
      throw new StorageUnavailable('PostgreSQL cannot be reached', { cause: error })
    }
    let broken: Error | undefined
    try {
      await client.query('BEGIN')
      const results: ChangeResult[] = []
      for (const [index, { query: statement, params, expect }] of changes.entries()) {
        const result = await client.query({
          name: nameOf(statement),
          text: statement.numbered,
          values: params.map(toDriver),
        })
        const touched = result.rowCount ?? 0
        if (expect !== undefined && touched !== expect) throw new GuardFailed(index)
        results.push({ changes: touched, rows: result.rows as Row[] })
      }
      await client.query('COMMIT')
      return results
    } catch (error) {
      const known = classify(error)
      await client.query('ROLLBACK').catch((lost: Error) => {
        broken = lost
      })
      throw known
    } finally {
      // A connection that could not roll back is thrown away, and its transaction with it.
      client.release(broken)
    }
  }
  return async (changes) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(changes)
      } catch (error) {
        if (!(error instanceof Retryable) || attempt >= mostRetries) {
          throw error instanceof Retryable ? new StorageUnavailable(error.message) : error
        }
        await new Promise((resolve) => setTimeout(resolve, attempt * 5))
      }
    }
  }
}

class Retryable extends Error {}

function classify(error: unknown): Error {
  if (error instanceof GuardFailed) return error
  const {
    code,
    message = String(error),
    detail,
  } = (error ?? {}) as { code?: string; message?: string; detail?: string }
  if (code === '23505') return new UniqueViolation(detail ?? message)
  if (code === '40001' || code === '40P01') return new Retryable(message)
  // Class 53 insufficient resources, 57 operator intervention, 58 system error, 08 connection; no code = the socket.
  const unavailable =
    code === undefined || /^(08|53|57|58)/.test(code) || /^(ECONN|EPIPE|ETIMEDOUT)/.test(code)
  if (unavailable) return new StorageUnavailable(message, { cause: error })
  return error instanceof Error ? error : new Error(message)
}

interface Feed {
  close(): void
}

/** LISTEN on a connection of its own. When it was lost, anything may have changed: listeners are told `undefined`. */
function listenForChanges(
  config: pg.ClientConfig,
  listeners: Map<string, Set<(key: string | undefined) => void>>,
): Feed {
  let closed = false
  let failures = 0
  let current: pg.Client | undefined
  const tellAll = (): void => {
    for (const known of listeners.values()) for (const listener of known) listener(undefined)
  }
  const start = async (): Promise<void> => {
    // The time to try again may come after the end.
    if (closed) return
    const client = new pg.Client(config)
    current = client
    client.on('error', () => undefined)
    client.once('end', () => {
      if (closed) return
      tellAll()
      const wait = reconnectAfterMs[Math.min(failures, reconnectAfterMs.length - 1)]
      failures += 1
      setTimeout(() => void start().catch(() => undefined), wait).unref()
    })
    client.on('notification', ({ payload = '' }) => {
      const split = payload.indexOf(':')
      for (const listener of listeners.get(payload.slice(0, split)) ?? []) listener(payload.slice(split + 1))
    })
    await client.connect()
    if (closed) {
      await client.end()
      return
    }
    try {
      await client.query(`LISTEN ${channel}`)
    } catch {
      // A connection that hears nothing is no use: its end has another one made.
      await client.end()
      return
    }
    failures = 0
    tellAll()
  }
  void start().catch(() => undefined)
  return {
    close() {
      closed = true
      void current?.end().catch(() => undefined)
    },
  }
}

const names = new WeakMap<object, string>()

/** Prepared statements are found again by name; equal texts share one. */
function nameOf(statement: Query<readonly SqlValue[], unknown>): string {
  let name = names.get(statement)
  if (name === undefined) {
    name = `w_${createHash('sha256').update(statement.numbered).digest('hex').slice(0, 40)}`
    names.set(statement, name)
  }
  return name
}

function toDriver(value: SqlValue): string | number | Buffer | null {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value
}

const int8 = 20

/** 64-bit integers come as numbers: all of ours are below 2^53. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === int8) return Number
  return pg.types.getTypeParser(oid, format as 'text')
}
