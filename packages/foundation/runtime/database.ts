import { isAbsolute, join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { StartupError } from '../errors/index.ts'
import { sealMigrations } from '../seal/index.ts'
import { migrate, openPostgres, openSqlite, type SqliteWriter, startSqliteWriter } from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import type { ServiceLaunch } from './launch.ts'

/** Where a service keeps its rows. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgresql'; readonly url: string }

/** @param setting `database_url`; unset = `sqlite:NAME.db` in the home folder */
export function databasePlace(setting: string | undefined, home: string, name: string): DatabasePlace {
  const url = setting ?? `sqlite:${name}.db`
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length).replace(/^\/\//, '')
    if (path === '') throw new StartupError('database_url: sqlite: needs a path after it')
    return { kind: 'sqlite', path: isAbsolute(path) ? path : join(home, path) }
  }
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgresql', url }
  throw new StartupError('database_url must begin with sqlite: or postgresql://')
}

/** The primary's part: on SQLite it starts the one writer. */
export async function startWriter(place: DatabasePlace): Promise<SqliteWriter | undefined> {
  return place.kind === 'sqlite' ? startSqliteWriter({ path: place.path }) : undefined
}

export async function connect(place: DatabasePlace, writer: MessagePort | undefined): Promise<Database> {
  return place.kind === 'sqlite' ? openSqlite({ path: place.path, writer }) : openPostgres({ url: place.url })
}

/** A service's database for a command that works on it beside (or without) the running service. */
export async function openSealedDatabase(
  service: string,
  launch: Pick<ServiceLaunch, 'config' | 'home'>,
): Promise<{ readonly service: string; readonly db: Database; close(): Promise<void> }> {
  const db = await connect(databasePlace(launch.config.database_url, launch.home, service), undefined)
  await migrate(db, 'seal', sealMigrations)
  return { service, db, close: () => db.close() }
}
