import { join } from 'node:path'
import { type KnownCommits, knownCommits, openLogKeys } from '../audit/index.ts'
import { StartupError } from '../errors/index.ts'
import { inHome } from '../home/index.ts'
import { isUnsealed, loadRootKeys, openSeal, openSealToRead, type RootKey } from '../seal/index.ts'
import type { Seal } from '../seal/types.ts'
import {
  connectionRoom,
  isEmptyDatabase,
  isRestoreUnderWay,
  type SqliteWriter,
  unsafeSettings,
} from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import { componentsOf, plansOf, requireUsablePlans } from './components.ts'
import { connect, type DatabasePlace, databasePlace, startWriter } from './database.ts'
import { connectWhenThere } from './database-wait.ts'
import { rootKeySource } from './launch.ts'
import { migrator } from './migrator.ts'
import { canSharePort } from './ports.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import { type Start, urlAt } from './primary-start.ts'
import { findRollback, missingFile, type Rollback, refuseRollback } from './rollback.ts'
import { startWaitingListener, type WaitingListener } from './waiting-listener.ts'

/** The database of a service, up to date, and what is sealed in it. */
export interface Storage {
  readonly place: DatabasePlace
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

/** The listener that answers for the service while its database is away. */
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
  const place = databasePlace(config, home, name)
  const auditFolder = join(home, 'audit', name)
  let known = await knownCommits(auditFolder)
  const requireAccepted = (rollback: Rollback | undefined): void => {
    if (rollback !== undefined && !launch.acceptRollback) refuseRollback(name, auditFolder, place, rollback)
  }
  requireAccepted(missingFile(place, known))
  const writer = await startWriter(place)
  if (writer !== undefined) opened.defer(() => writer.close())
  let standIn: StandIn | undefined
  const db = await connectWhenThere({
    open: () => connect(place, writer?.port(), log),
    mostMs: config.database_wait_ms,
    log,
    async onAway() {
      standIn = await startStandIn(start, certificates, place)
    },
  })
  opened.defer(() => db.close())
  if (await isRestoreUnderWay(db))
    throw new StartupError(
      `${name}: a restore into this database did not come to its end: run warder restore again, it begins anew`,
    )
  for (const unsafe of await unsafeSettings(db))
    log.warn(unsafe, 'PostgreSQL is not set to keep what it acknowledges')
  await tellCrowd(start, db, place)
  if (known.unread && !(await isEmptyDatabase(db))) known = await knownWithKeys(start, db, auditFolder)
  const rollback = await findRollback(db, known)
  requireAccepted(rollback)
  const components = componentsOf(definition)
  const plans = await plansOf(db, components)
  requireUsablePlans(components, plans)
  await launch.beforeMigrating?.([...plans.values()].some(({ pending }) => pending.length > 0))
  const migrations = migrator(place, db, components)
  opened.defer(() => migrations.close())
  for (const component of ['schema', 'commit count', 'seal']) await migrations.run(component)
  const rootKeys = await openRootKeys(start, db)
  await migrations.run('lease')
  const seal = await openSeal({ db, rootKeys, service: name, clock })
  for (const component of [name, 'audit']) await migrations.run(component)
  await migrations.close()
  return { place, writer, db, rootKeys, seal, auditFolder, rollback, standIn }
}

/**
 * Reads an encrypted log by the keys that this database and the root key open. One that they do not open was not
 * written beside this database.
 * @throws StartupError
 */
async function knownWithKeys(start: Start, db: Database, folder: string): Promise<KnownCommits> {
  const { launch, definition } = start
  const { config, env, home, acceptRollback } = launch
  const rootKeys = loadRootKeys(
    rootKeySource(config, (path) => inHome(home, path)),
    env,
    { create: false },
  )
  const seal = await openSealToRead({ db, rootKeys, service: definition.name })
  if (seal === undefined)
    throw new StartupError(
      `wrong root key: ${rootKeys.map(({ from }) => from).join(', ')} does not open the database of ${definition.name}, whose audit log is encrypted; restore the right one (nothing was changed)`,
    )
  const known = await knownCommits(folder, await openLogKeys(folder, seal))
  if (known.unread && acceptRollback !== true)
    throw new StartupError(
      `${definition.name}: the audit log in ${folder} is encrypted by a key that this database does not have: it was written beside another one. Restore that one, or move the log away; or start once with --accept-rollback, which puts the log aside and begins a new one`,
    )
  return known
}

/** Says when the pools of this process alone can take more connections than PostgreSQL has. */
async function tellCrowd({ size, log }: Start, db: Database, place: DatabasePlace): Promise<void> {
  if (place.kind === 'sqlite') return
  const room = await connectionRoom(db)
  // Of each worker and of the main thread; one of each listens.
  const most = (size.most + 1) * ((place.readers ?? 0) + (place.writers ?? 0) + 1)
  if (room !== undefined && most > room)
    log.warn(
      { most, max_connections: room },
      'the connections of this service can be more than PostgreSQL takes: set fewer, or raise max_connections',
    )
}

/** Answers 503 on the port of the service until its database is there. */
async function startStandIn(
  start: Start,
  certificates: PrimaryCertificates,
  place: DatabasePlace,
): Promise<StandIn> {
  const { launch, definition, log, ports, opened } = start
  const { host } = launch.config
  const port = await ports.claim(host, launch.config.port, definition.name)
  const listener = await startWaitingListener({
    name: definition.name,
    place: { host, port, reusePort: canSharePort(process.platform) },
    tls: certificates.current().https,
    database: place.kind,
  })
  opened.defer(() => listener.close())
  ports.release()
  log.warn({ url: urlAt(start, port) }, 'the service answers 503 until its database is there')
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
  // Made only for an empty database: a lost root key must be said, not replaced by one that opens nothing.
  return loadRootKeys(source, env, { create: await isUnsealed(db) })
}
