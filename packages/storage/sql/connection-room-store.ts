import { query } from './query.ts'
import type { Database } from './types.ts'

const room = query<[], { readonly most: number | null }>(
  `SELECT CAST(SUM(CASE name WHEN 'max_connections' THEN 1 ELSE -1 END * CAST(setting AS BIGINT)) AS BIGINT) AS most
     FROM pg_settings WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')`,
)

/** Connections that PostgreSQL has for all of its clients; undefined on SQLite, or where the engine does not tell. */
export async function readConnectionLimit(db: Database): Promise<number | undefined> {
  if (db.dialect === 'sqlite') return undefined
  return (await db.get(room, []))?.most ?? undefined
}
