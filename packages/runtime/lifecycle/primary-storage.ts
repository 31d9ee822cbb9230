import { join } from 'node:path'
import { readKnownCommits } from '@warder/audit'
import { canSharePort, inHome } from '@warder/base'
import type { Database, Seal } from '@warder/storage'
import {
  findUnsafeSettings,
  isUnsealed,
  loadRootKeys,
  openSeal,
  type RootKey,
  readConnectionLimit,
  type SqliteWriter,
} from '@warder/storage'
import { connect, type DatabaseLocation, startWriter, toDatabaseLocation } from './database.ts'
import { connectWhenThere } from './database-wait.ts'
import { rootKeySource } from './launch.ts'
import { createMigrator } from './migrator.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import { formatUrl, type Start } from './primary-start.ts'
import type { Rollback } from './rollback.ts'
import { requireDatabaseFile, requireUsableDatabase } from './usable-database.ts'
import { startWaitingListener, type WaitingListener } from './waiting-listener.ts'

/** The migrated database of a service, with its seal. */
export interface Storage {
  readonly location: DatabaseLocation
  /** The one writer of a SQLite file. */
  readonly writer: SqliteWriter | undefined
  readonly db: Database
  readonly rootKeys: readonly RootKey[]
  readonly seal: Seal
  readonly auditFolder: string
  /** The difference between the database and the audit log that the operator accepted. */
  readonly rollback: Rollback | undefined
  /** Set where the database was waited for. */
  readonly standIn: StandIn | undefined
}

/** The listener that replies for the service while its database is unreachable. */
interface StandIn {
  readonly port: number
  readonly listener: WaitingListener
}

/**
 * Opens the database: the root key is checked before anything is written, and the schema is up to date afterwards.
 * @throws StartupError for a database that is not the one that the audit log knows, a restore that did not end, a wrong key
 */
export async function openStorage(start: Start, certificates: PrimaryCertificates): Promise<Storage> {
  const { launch, definition, log, clock, opened } = start
  const { config, home } = launch
  const { name } = definition
  const location = toDatabaseLocation(config, home, name)
  const auditFolder = join(home, 'audit', name)
  const known = await readKnownCommits(auditFolder)
  requireDatabaseFile({ launch, definition, location, known })
  const writer = await startWriter(location)
  if (writer !== undefined) opened.defer(() => writer.close())
  let standIn: StandIn | undefined
  const db = await connectWhenThere({
    open: () => connect(location, writer?.port(), log),
    maxMs: config.database_wait_ms,
    log,
    async onUnavailable() {
      standIn = await startStandIn(start, certificates, location)
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
  const rootKeys = await openRootKeys(start, db)
  await migrations.run('lease')
  const seal = await openSeal({ db, rootKeys, service: name, clock })
  for (const component of [name, 'audit']) await migrations.run(component)
  await migrations.close()
  return { location, writer, db, rootKeys, seal, auditFolder, rollback, standIn }
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

/** Answers 503 on the port of the service until its database is there. */
async function startStandIn(
  start: Start,
  certificates: PrimaryCertificates,
  location: DatabaseLocation,
): Promise<StandIn> {
  const { launch, definition, log, ports, opened } = start
  const { host } = launch.config
  const port = await ports.claim(host, launch.config.port, definition.name)
  const listener = await startWaitingListener({
    name: definition.name,
    place: { host, port, reusePort: canSharePort(process.platform) },
    tls: certificates.current().https,
    database: location.kind,
  })
  opened.defer(() => listener.close())
  ports.release()
  log.warn({ url: formatUrl(start, port) }, 'the service responds with 503 until its database is reachable')
  launch.onWaiting?.()
  return { port, listener }
}

/**
 * The root keys to try. While a rotation of the key file is unfinished both files are tried; `warder root-key rotate`
 * finishes it.
 */
async function openRootKeys({ launch }: Start, db: Database): Promise<readonly RootKey[]> {
  const { config, env, home } = launch
  const source = rootKeySource(config, (path) => inHome(home, path))
  // Created only for an empty database: a lost root key must be reported, not replaced by one that opens nothing.
  return loadRootKeys(source, env, { create: await isUnsealed(db) })
}
