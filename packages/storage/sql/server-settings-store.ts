import { query } from './query.ts'
import type { Database } from './types.ts'

const settings = query<[], { readonly name: string; readonly setting: string }>(
  "SELECT CAST(name AS TEXT) AS name, setting FROM pg_settings WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes')",
)

/** The loss that each setting risks when it is off. */
const losses: Readonly<Record<string, string>> = {
  synchronous_commit: 'a crash of the database server loses acknowledged changes',
  fsync: 'a power cut loses acknowledged changes and can leave the database unreadable',
  full_page_writes: 'a power cut can leave the database unreadable',
}

/**
 * Settings of PostgreSQL with which an acknowledged change is not safe on disk, and their consequences; none on SQLite,
 * which Warder opens with `synchronous = FULL`. An engine that only implements the protocol may not have them.
 */
export async function findUnsafeSettings(
  db: Database,
): Promise<readonly { readonly setting: string; readonly loss: string }[]> {
  if (db.dialect === 'sqlite') return []
  const rows = await db.all(settings, [])
  return rows
    .filter(({ setting }) => setting === 'off')
    .map(({ name, setting }) => ({ setting: `${name} = ${setting}`, loss: losses[name] ?? '' }))
}

const room = query<[], { readonly most: number | null }>(
  `SELECT CAST(SUM(CASE name WHEN 'max_connections' THEN 1 ELSE -1 END * CAST(setting AS BIGINT)) AS BIGINT) AS most
     FROM pg_settings WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')`,
)

/**
 * Connections that PostgreSQL has for all of its clients; undefined on SQLite, or if the engine does not
 * report it.
 */
export async function readConnectionLimit(db: Database): Promise<number | undefined> {
  if (db.dialect === 'sqlite') return undefined
  return (await db.get(room, []))?.most ?? undefined
}

const sqliteVersion = query<[], { readonly version: string }>('SELECT sqlite_version() AS version')
const postgresVersion = query<[], { readonly version: string }>(
  "SELECT current_setting('server_version') AS version",
)

/** Version of SQLite, or of the PostgreSQL server. */
export async function readEngineVersion(db: Database): Promise<string> {
  return (await db.get(db.dialect === 'sqlite' ? sqliteVersion : postgresVersion, []))?.version ?? ''
}
