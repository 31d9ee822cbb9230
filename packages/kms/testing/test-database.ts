import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openPostgres, openSqlite, query, type SqlValue } from '@warder/storage'
import {
  type Components,
  isTestedOnPostgresql,
  startTestPostgres,
  type TestPostgres,
} from '@warder/storage/testing'

/** A database for one test, and everything that is written in it. */
export interface TestDatabase {
  readonly db: Database
  bytes(): Promise<Buffer>
  /** Closes it and takes it away. */
  close(): Promise<void>
}

let postgres: Promise<TestPostgres> | undefined

async function startPostgres(): Promise<TestPostgres> {
  const started = await startTestPostgres()
  // It is gone with the process.
  if ('missing' in started) throw new Error(started.missing)
  return started
}

/** @param components the migrations of the service: on PostgreSQL they run once for many tests */
export async function openTestDatabase(home: string, components: Components): Promise<TestDatabase> {
  if (!isTestedOnPostgresql) {
    const db = openSqlite({ path: join(home, 'kms.db') })
    return { db, bytes: async () => Buffer.concat(listFiles(home)), close: async () => db.close() }
  }
  postgres ??= startPostgres()
  const server = await postgres
  const url = await server.migrated(components)
  const db = await openPostgres({ url })
  return {
    db,
    bytes: () => everyRow(db),
    async close() {
      await db.close()
      await server.drop(url)
    },
  }
}

/** Database, WAL and index of it. */
function listFiles(home: string): readonly Buffer[] {
  return readdirSync(home)
    .filter((name) => name.startsWith('kms.db'))
    .map((name) => readFileSync(join(home, name)))
}

const tables = query<[], { readonly name: string }>(
  "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
)

async function everyRow(db: Database): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const { name } of await db.all(tables, [])) {
    for (const row of await db.all(
      query<[], Readonly<Record<string, SqlValue>>>(`SELECT * FROM ${name}`),
      [],
    )) {
      for (const value of Object.values(row))
        parts.push(value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(`${value}\n`))
    }
  }
  return Buffer.concat(parts)
}
