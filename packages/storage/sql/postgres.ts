import { Socket } from 'node:net'
import { StartupError } from '@warder/base'
import pg from 'pg'
import { parsePostgresUrl } from '../postgres/address.ts'
import { createPostgresClients, type PostgresClients } from '../postgres/clients.ts'
import type { HostLog } from '../postgres/hosts.ts'
import { ErrorCount, StorageUnavailable } from './errors.ts'
import { createTransactions } from './postgres-commit.ts'
import { channel, type Listeners, listenForChanges, notifyListeners } from './postgres-feed.ts'
import { type Reader, startReader } from './postgres-reader.ts'
import { classify, getTypeParser, toQueryConfig } from './postgres-statement.ts'
import { query, requireStorableText } from './query.ts'
import type { Database, Query, SqlValue } from './types.ts'

type StatementClient = Pick<Reader, 'query'>

const processOfServer = 'SELECT pg_backend_pid() AS pid'
const rounds = 2
/** A connection that is lost and made again between two rounds changes its process, too. */
const attempts = 3

/**
 * Refuses a pooler that assigns another connection of the server to each transaction (PgBouncer with `pool_mode =
 * transaction`, and similar poolers). It would seem to work, but session locks would not be held, and notifications of
 * changes not received.
 * @throws StartupError
 */
export async function requireOwnSessions(one: StatementClient, other: StatementClient): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) if (await haveOwnSessions(one, other)) return
  throw new StartupError(
    'database_url: a connection pooler in front of PostgreSQL changes the connection with each transaction; ' +
      'give the address of PostgreSQL itself, or let the pooler keep sessions (PgBouncer: pool_mode = session)',
  )
}

/** One after the other: a pooler then uses the same connection for both, or alternates between connections. */
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

export interface PostgresOptions {
  /** `postgresql://user:password@host:port,host:port/database?sslmode=verify-full&sslrootcert=…` */
  readonly url: string
  /** Absolute path of a file with the password; it is read at each connection. */
  readonly passwordFile?: string | undefined
  /** Base folder of relative paths in the address; default: the working directory. */
  readonly folder?: string | undefined
  /** State about the primary, shared by the threads of a process (`PrimaryMemory`); default: not shared. */
  readonly primary?: SharedArrayBuffer | undefined
  readonly log?: HostLog | undefined
  /** Connections for single statements (pipelined); default 2. */
  readonly readers?: number
  /** Connections for commits of several changes; default 6. */
  readonly writers?: number
  readonly limits?: Partial<PostgresLimits>
}

/** Time limits for a silent database, in milliseconds. */
export interface PostgresLimits {
  /**
   * The server ends a statement, or a transaction that waits for its next one, after this time; 0 = never. Default 15 s.
   */
  readonly statement: number
  /** A connection that has not answered a statement by then is given up; default 2 s more than `statement`. */
  readonly answer: number
  /** A statement waits so long for a lock; 0 = as long as `statement` lets it, the default. */
  readonly lock: number
  /** A connection is made, or one of the pool is free, by then; default 10 s. */
  readonly connect: number
  /** Time limit for a host without one in the address; default: one `connect`, of several 3 s each. */
  readonly host: number | undefined
  /** How often the listening connection is probed; default 10 s. */
  readonly feedCheck: number
}

const defaultLimits = { statement: 15_000, lock: 0, connect: 10_000, host: undefined, feedCheck: 10_000 }
/** Shorter for several hosts, since a silent one delays the others. */
const oneOfSeveralMs = 3_000
/** Time limit for the server to report that it ended a statement. */
const answerAfterMs = 2_000
/** The system detects an idle connection without a peer some ten seconds after this time. */
const keepAliveAfterMs = 10_000
const nothing = query<[], { one: number }>('SELECT 1 AS one')
/** Its parameter is `topic:key`. */
const notify: Query<readonly SqlValue[], unknown> = query(`SELECT pg_notify('${channel}', ?)`)

/**
 * PostgreSQL, or an engine that speaks its protocol. Single statements are pipelined over a few connections;
 * a commit of several changes is one transaction that waits only for the database.
 * @throws StartupError when it cannot be reached
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const limits = completeLimits(options.limits)
  const { passwordFile, folder, primary, log } = options
  const address = parsePostgresUrl(options.url)
  const defaultHostMs = address.hosts.length > 1 ? oneOfSeveralMs : limits.connect
  const hostMs = limits.host ?? address.connectTimeoutMs ?? defaultHostMs
  const sockets = new Set<Socket>()
  const clients = createPostgresClients({
    address,
    passwordFile,
    folder,
    memory: primary,
    connectTimeoutMs: hostMs,
    config: toClientConfig(limits, sockets),
    log,
  })
  const readers = await allOrNone(Array.from({ length: options.readers ?? 2 }, () => startReader(clients)))
  // All hosts may be asked, and then the one that was chosen.
  const pool = createPool(clients, Math.max(limits.connect, 2 * hostMs), options.writers ?? 6)
  await requireUsableSessions(readers, pool)
  return createDatabase({ limits, clients, sockets, readers, pool })
}

/** The connections of an open database. */
interface Connections {
  readonly limits: PostgresLimits
  readonly clients: PostgresClients
  /** Open ones. */
  readonly sockets: ReadonlySet<Socket>
  readonly readers: readonly Reader[]
  /** For commits. */
  readonly pool: pg.Pool
}

function completeLimits(limits: Partial<PostgresLimits> = {}): PostgresLimits {
  const { statement = defaultLimits.statement } = limits
  const answer = statement === 0 ? 0 : statement + answerAfterMs
  return { ...defaultLimits, answer, ...limits }
}

/** @param sockets contains each open one */
function toClientConfig(limits: PostgresLimits, sockets: Set<Socket>): pg.ClientConfig {
  return {
    statement_timeout: limits.statement,
    lock_timeout: limits.lock,
    idle_in_transaction_session_timeout: limits.statement,
    // The server's own limits do not help when the network silently drops all packets.
    query_timeout: limits.answer,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    types: { getTypeParser: getTypeParser as never },
    application_name: 'warder',
    stream: () => {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
  }
}

function createPool({ Client }: PostgresClients, connectionTimeoutMillis: number, max: number): pg.Pool {
  const pool = new pg.Pool({ Client: Client as never, connectionTimeoutMillis, max })
  // A lost idle connection is not an error of a request: the pool opens another one.
  pool.on('error', () => undefined)
  // The pool only handles errors of idle connections: a connection lost during a commit would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Closes all connections when it throws. @throws StartupError behind a pooler that changes the connection */
async function requireUsableSessions(readers: readonly Reader[], pool: pg.Pool): Promise<void> {
  const [first, second = { query: (statement: pg.QueryConfig) => pool.query(statement) }] = readers
  if (first === undefined) return
  try {
    await requireOwnSessions(first, second)
  } catch (error) {
    await Promise.allSettled([pool.end(), ...readers.map((reader) => reader.end())])
    throw error instanceof StartupError ? error : classify(error)
  }
}

function createDatabase(connections: Connections): Database {
  const { limits, clients, readers, pool } = connections
  const listeners: Listeners = new Map()
  const feed = listenForChanges(clients, listeners, limits.feedCheck)
  const commit = createTransactions(pool, clients)
  const errors = new ErrorCount()
  const run = createReads(readers, errors)
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
      const results = await commit(changes).catch((error: unknown) => {
        errors.add(error)
        throw error
      })
      // After the acknowledgement no earlier read may be used: the notification arrives later.
      for (const { query: statement, params } of changes)
        if (statement === notify) notifyListeners(listeners, String(params[0]))
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
    problem: () => undefined,
    load: () => ({
      waitingCommits: pool.waitingCount,
      pool: { used: pool.totalCount - pool.idleCount, idle: pool.idleCount },
      errors: errors.counts,
    }),
    async ping() {
      const began = performance.now()
      await run(nothing as unknown as Query<readonly SqlValue[], unknown>, [])
      return performance.now() - began
    },
    close() {
      feed.close()
      return closeAll(connections)
    },
  }
}

type Read = (
  statement: Query<readonly SqlValue[], unknown>,
  params: readonly SqlValue[],
) => Promise<pg.QueryResult>

/** Runs single statements over the readers in turn. */
function createReads(readers: readonly Reader[], errors: ErrorCount): Read {
  let turn = 0
  return async (statement, params) => {
    requireStorableText(params)
    turn = (turn + 1) % readers.length
    const reader = readers[turn]
    if (reader === undefined) throw new StorageUnavailable('no connection')
    try {
      return await reader.query(toQueryConfig(statement, params))
    } catch (error) {
      const known = classify(error)
      errors.add(known)
      throw known
    }
  }
}

async function closeAll({ limits, sockets, readers, pool }: Connections): Promise<void> {
  // A silent server does not close the connection either. The timer keeps the process alive only while sockets are open.
  const silent = setTimeout(() => {
    for (const socket of sockets) socket.destroy()
  }, limits.answer)
  silent.unref()
  await Promise.all([pool.end(), ...readers.map((reader) => reader.end())])
}

/** Closes all connections when one fails, so that a repeated start leaks none. */
async function allOrNone(starting: readonly Promise<Reader>[]): Promise<readonly Reader[]> {
  const started = await Promise.allSettled(starting)
  const failed = started.find((one) => one.status === 'rejected')
  if (failed === undefined) return Promise.all(starting)
  for (const one of started) if (one.status === 'fulfilled') void one.value.end().catch(() => undefined)
  throw failed.reason
}
