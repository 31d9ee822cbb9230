import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readKnownCommits } from '@warder/audit'
import type { Logger } from '@warder/base'
import { prepareReply, toUnreachableHealth } from '@warder/server'
import {
  type Database,
  DatabaseUnreachable,
  findUnsafeSettings,
  migrate,
  openSeal,
  planMigration,
  type RootKey,
  readConnectionLimit,
  type Seal,
  type SqliteWriter,
  StorageUnavailable,
} from '@warder/storage'
import type { Components } from './components.ts'
import { connect, type DatabaseLocation, startWriter, toDatabaseLocation } from './database.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import { formatUrl, type Start } from './primary-start.ts'
import type { Rollback } from './rollback.ts'
import { createRootKeyState, openRootKeys } from './root-keys.ts'
import { prepareUnsealing } from './sealed-listeners.ts'
import { isHealthRequest, type StandIn, type StandInAnswer, startStandIn } from './stand-in.ts'
import type { Unsealed } from './unsealing.ts'
import { requireDatabaseFile, requireUsableDatabase } from './usable-database.ts'

const firstWaitMs = 1_000
const maxWaitMs = 30_000

interface DatabaseWait {
  open(): Promise<Database>
  /** undefined = without limit; 0 = no retry. */
  readonly maxMs: number | undefined
  readonly log: Logger
  /** Called once, before the first wait. */
  onUnavailable(): Promise<void>
  /** Default: a timer. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/**
 * Connects to a database, and retries while it cannot be reached: after 1, 2, 4, 8, 16 and then every 30 seconds. Permanent
 * errors (a wrong password, no such database) are thrown at once.
 * @throws DatabaseAway when it has not come back within `maxMs`
 */
export async function connectWhenThere(options: DatabaseWait): Promise<Database> {
  const { maxMs = Number.POSITIVE_INFINITY, log, wait = (ms) => setTimeout(ms) } = options
  let waitedMs = 0
  for (let attempt = 1; ; attempt += 1) {
    try {
      const db = await options.open()
      if (attempt > 1) log.info({ waited_ms: waitedMs }, 'the database is reachable')
      return db
    } catch (error) {
      if (!(error instanceof DatabaseUnreachable) || waitedMs >= maxMs) throw error
      if (attempt === 1) await options.onUnavailable()
      const waitMs = Math.min(firstWaitMs * 2 ** (attempt - 1), maxWaitMs, maxMs - waitedMs)
      log.warn(
        { detail: error.message, wait_ms: waitMs },
        'the database cannot be reached; the start waits for it',
      )
      await wait(waitMs)
      waitedMs += waitMs
    }
  }
}

/** How long a migration statement waits for a lock: later statements wait behind it. */
const lockMs = 15_000

interface Migrator {
  /** @throws StartupError as `migrate` does */
  run(component: string): Promise<void>
  close(): Promise<void>
}

/**
 * Migrates tables; on PostgreSQL over a connection with its own time limits, which is opened on first use.
 */
function createMigrator(location: DatabaseLocation, db: Database, components: Components): Migrator {
  let own: Database | undefined
  return {
    async run(component) {
      const migrations = components.get(component) ?? []
      if ((await planMigration(db, component, migrations)).pending.length === 0) return
      if (location.kind === 'postgresql')
        own ??= await connect({ ...location, ...oneAtATime, limits: toLimits(location) }, undefined)
      await migrate(own ?? db, component, migrations)
    },
    async close() {
      await own?.close()
      own = undefined
    },
  }
}

const oneAtATime = { readers: 1, writers: 1 }

function toLimits({ limits, migrationMs }: Extract<DatabaseLocation, { kind: 'postgresql' }>) {
  return { ...limits, statement: migrationMs, lock: lockMs }
}

/** The migrated database of a service, with its seal. */
export interface Storage {
  readonly location: DatabaseLocation
  /** The one writer of a SQLite file. */
  readonly writer: SqliteWriter | undefined
  readonly db: Database
  readonly rootKeys: readonly RootKey[]
  /** Whether the root key can be opened again, as `watchRootKey` finds it. */
  readonly rootKeyState: SharedArrayBuffer
  readonly seal: Seal
  readonly auditFolder: string
  /** The difference between the database and the audit log that the operator accepted. */
  readonly rollback: Rollback | undefined
  /** Set if the start waited for the database, or for shares. */
  readonly standIn: StandIn | undefined
  /** Set if holders of shares opened the root key. */
  readonly unsealed: Unsealed | undefined
}

/**
 * Opens the database: the root key is checked before anything is written, and the schema is up to date afterwards.
 * @throws StartupError for a database that is not the one that the audit log knows, a restore that did not end, a wrong key
 */
export async function openStorage(start: Start, certificates: PrimaryCertificates): Promise<Storage> {
  const { definition, log, clock, opened } = start
  const { config, home } = start.launch
  const { name } = definition
  const location = toDatabaseLocation(config, home, name)
  let standIn: StandIn | undefined
  /** @returns the address of the service */
  const reply = async (answer: StandInAnswer): Promise<string> => {
    standIn?.setAnswer(answer)
    standIn ??= await startStandIn(start, certificates, answer)
    return formatUrl(start, standIn.port)
  }
  const unsealing = prepareUnsealing(start, certificates, location, reply)
  opened.defer(() => unsealing.close())
  const launch = { ...start.launch, collectShares: unsealing.collect }
  const auditFolder = join(home, 'audit', name)
  const known = await readKnownCommits(auditFolder)
  requireDatabaseFile({ launch, definition, location, known })
  const writer = await startWriter(location)
  if (writer !== undefined) opened.defer(() => writer.close())
  const db = await connectWhenThere({
    open: () => connect(location, writer?.port(), log),
    maxMs: config.database_wait_ms,
    log,
    async onUnavailable() {
      const url = await reply(answerUnreachable(location.kind))
      log.warn({ url }, 'the service responds with 503 until its database is reachable')
      launch.onWaiting?.()
    },
  })
  opened.defer(() => db.close())
  for (const unsafe of await findUnsafeSettings(db))
    log.warn(unsafe, 'PostgreSQL is not configured for durable commits')
  await warnOfConnectionLimit(start, db, location)
  const { components, plans, rollback } = await requireUsableDatabase({
    launch,
    definition,
    db,
    location,
    known,
  })
  await launch.beforeMigrating?.([...plans.values()].some(({ pending }) => pending.length > 0))
  const migrations = createMigrator(location, db, components)
  opened.defer(() => migrations.close())
  for (const component of ['schema', 'commit count', 'seal']) await migrations.run(component)
  const rootKeys = await openRootKeys(launch, { service: name, db, create: true, log })
  await migrations.run('lease')
  const seal = await openSeal({ db, rootKeys, service: name, clock })
  for (const component of ['notices', name, 'audit']) await migrations.run(component)
  await migrations.close()
  unsealing.close()
  const { unsealed } = unsealing
  const rootKeyState = createRootKeyState()
  return { location, writer, db, rootKeys, rootKeyState, seal, auditFolder, rollback, standIn, unsealed }
}

/** `GET /health` reports DOWN, and all other requests receive 503. */
function answerUnreachable(database: string): StandInAnswer {
  return (request) => {
    if (isHealthRequest(request)) return prepareReply(toUnreachableHealth(database), 503, undefined)
    throw new StorageUnavailable('waiting for the database')
  }
}

/** Warns when the pools of this process can open more connections than PostgreSQL permits. */
async function warnOfConnectionLimit(
  { size, log }: Start,
  db: Database,
  location: DatabaseLocation,
): Promise<void> {
  if (location.kind === 'sqlite') return
  const room = await readConnectionLimit(db)
  // For each worker and the main thread: readers, writers, and one connection that listens.
  const maxConnections = (size.max + 1) * ((location.readers ?? 0) + (location.writers ?? 0) + 1)
  if (room !== undefined && maxConnections > room)
    log.warn(
      { most: maxConnections, max_connections: room },
      'this service may open more connections than PostgreSQL accepts: reduce them, or raise max_connections',
    )
}
