import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { inHome, StartupError } from '@warder/base'
import {
  type Database,
  isEmptyDatabase,
  isPostgresUrl,
  migrate,
  openPostgres,
  openSealToRead,
  openSqlite,
  type PostgresOptions,
  PrimaryMemory,
  parsePostgresUrl,
  readPassword,
  readTls,
  type Seal,
  type SqliteWriter,
  sealMigrations,
  startSqliteWriter,
} from '@warder/storage'
import type { RootKeyLaunch, RuntimeConfig, ServiceLaunch } from './launch.ts'
import { openRootKeys, requireRootKeySource } from './root-keys.ts'

/** Location of a service's database. Plain data, which crosses threads. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; readonly path: string }
  | (PostgresOptions & { readonly kind: 'postgresql'; readonly migrationMs: number })

type DatabaseSettings = Pick<RuntimeConfig, Extract<keyof RuntimeConfig, `database_${string}`>>

/**
 * @param config without `database_url`: `sqlite:NAME.db` in the home folder
 * @throws StartupError for an address that cannot be one
 */
export function toDatabaseLocation(config: DatabaseSettings, home: string, name: string): DatabaseLocation {
  const { database_url: url = `sqlite:${name}.db`, database_password_file: passwordFile } = config
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length).replace(/^\/\//, '')
    if (path === '') throw new StartupError('database_url: sqlite: must be followed by a path')
    return { kind: 'sqlite', path: isAbsolute(path) ? path : join(home, path) }
  }
  if (!isPostgresUrl(url)) throw new StartupError('database_url must begin with sqlite: or postgresql://')
  const { password } = parsePostgresUrl(url)
  if (password !== undefined && passwordFile !== undefined)
    throw new StartupError(
      'database_password_file is set and database_url contains a password: use only one of them',
    )
  const { database_connect_timeout_ms: hostMs } = config
  return {
    kind: 'postgresql',
    url,
    passwordFile: passwordFile === undefined ? undefined : inHome(home, passwordFile),
    folder: home,
    primary: PrimaryMemory.memory(),
    readers: config.database_read_connections,
    writers: config.database_write_connections,
    limits: {
      statement: config.database_statement_timeout_ms,
      host: hostMs,
    },
    migrationMs: config.database_migration_timeout_ms,
  }
}

/**
 * Checks the files that connections need.
 * @throws StartupError
 */
export function checkDatabaseFiles(location: DatabaseLocation): void {
  if (location.kind === 'sqlite') return
  const { folder = '', passwordFile: file } = location
  const { ssl, password: given, passfile } = parsePostgresUrl(location.url)
  readTls(ssl, '', (path) => inHome(folder, path))
  const sources = { file, given, passfile: passfile && inHome(folder, passfile), env: {} }
  if (file !== undefined || passfile !== undefined)
    readPassword(sources, { host: '', port: 0, database: '', user: '' })
}

/** Starts the writer of a SQLite database, in the primary. */
export async function startWriter(location: DatabaseLocation): Promise<SqliteWriter | undefined> {
  return location.kind === 'sqlite' ? startSqliteWriter({ path: location.path }) : undefined
}

export async function connect(
  location: DatabaseLocation,
  writer: MessagePort | undefined,
  log?: PostgresOptions['log'],
): Promise<Database> {
  return location.kind === 'sqlite'
    ? openSqlite({ path: location.path, writer })
    : openPostgres({ ...location, log })
}

/** Opens a service's database for a command that runs beside (or without) the service. */
export async function openSealedDatabase(
  service: string,
  launch: Pick<ServiceLaunch, 'config' | 'home'>,
): Promise<{ readonly service: string; readonly db: Database; close(): Promise<void> }> {
  const db = await connect(toDatabaseLocation(launch.config, launch.home, service), undefined)
  await migrate(db, 'seal', sealMigrations)
  return { service, db, close: () => db.close() }
}

/**
 * Opens sealed values of a service for a command, beside the running service or without it; changes nothing.
 * @throws StartupError that names the missing part: the database, or its root key
 */
export async function readSealed<Result>(
  service: string,
  launch: RootKeyLaunch,
  work: (seal: Pick<Seal, 'open'>) => Promise<Result>,
): Promise<Result> {
  await requireRootKeySource(launch)
  const { config, home } = launch
  const location = toDatabaseLocation(config, home, service)
  // Opening would create it.
  if (location.kind === 'sqlite' && !existsSync(location.path))
    throw new StartupError(`the database ${location.path} does not exist`)
  const db = await connect(location, undefined)
  try {
    if (await isEmptyDatabase(db)) throw new StartupError(`the ${service} database is empty`)
    const rootKeys = await openRootKeys(launch, { service, db })
    const seal = await openSealToRead({ db, rootKeys, service })
    if (seal === undefined)
      throw new StartupError(
        `wrong root key: ${rootKeys.map(({ from }) => from).join(', ')} does not decrypt the ${service} database`,
      )
    return await work(seal)
  } finally {
    await db.close()
  }
}
