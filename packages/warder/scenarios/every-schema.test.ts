import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { authService } from '@warder/auth'
import { kmsService } from '@warder/kms'
import { type Database, type Migration, migrate, openPostgres, openSqlite, query } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { fillTables, type OldTables, oldInstallation } from '../testing/old-installation.ts'

// A database that stopped at any number goes on from there, with the rows that it has.

const postgres = await startTestPostgres()
const folder = mkdtempSync(join(tmpdir(), 'warder-schemas-'))
after(async () => {
  if ('stop' in postgres) await postgres.stop()
  rmSync(folder, { recursive: true })
})

let count = 0
const engines = [
  {
    name: 'SQLite',
    skip: false as string | false,
    open: async (): Promise<Database> => {
      count += 1
      return openSqlite({ path: join(folder, `${count}.db`) })
    },
  },
  {
    name: 'PostgreSQL',
    skip: 'missing' in postgres ? postgres.missing : false,
    async open(): Promise<Database> {
      assert.ok('database' in postgres)
      return openPostgres({ url: await postgres.database(), readers: 1, writers: 1 })
    },
  },
]

const released = oldInstallation('auth-6-kms-17')
const kms3 = JSON.parse(
  readFileSync(new URL('../../kms/testing/fixtures/schema-3.json', import.meta.url), 'utf8'),
) as { readonly tables: OldTables }
const { data_key: _, root_key: __, schema_migration: ___, ...rowsOf3 } = kms3.tables

const own = (tables: OldTables): OldTables => {
  const { data_key: _, root_key: __, ...rows } = tables
  return rows
}

const cases: readonly {
  readonly component: string
  readonly migrations: readonly Migration[]
  /** Of which number the rows are. */
  readonly from: number
  readonly tables: OldTables
}[] = [
  { component: 'auth', migrations: authService.migrations, from: 6, tables: own(released.auth.tables) },
  { component: 'kms', migrations: kmsService.migrations, from: 17, tables: own(released.kms.tables) },
  { component: 'kms', migrations: kmsService.migrations, from: 3, tables: rowsOf3 },
  { component: 'auth', migrations: authService.migrations, from: 0, tables: {} },
]

const shapes = {
  sqlite: query<[], { readonly line: string }>(
    "SELECT type || ' ' || name || ' ' || COALESCE(sql, '') AS line FROM sqlite_schema ORDER BY name",
  ),
  postgresql: query<[], { readonly line: string }>(
    `SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || COALESCE(column_default, '') AS line
       FROM information_schema.columns WHERE table_schema = 'public'
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY line`,
  ),
} as const

/** Tables, columns, indexes, and the rows of the tables that had some. */
async function contentOf(db: Database, tables: OldTables): Promise<unknown> {
  const rows: unknown[] = []
  for (const table of Object.keys(tables)) {
    const found = await db.all(query(`SELECT * FROM ${table}`), [])
    rows.push([table, found.map((row) => JSON.stringify(row, Object.keys(row).sort())).sort()])
  }
  return [await db.all(shapes[db.dialect], []), rows]
}

for (const { name, skip, open } of engines)
  for (const { component, migrations, from, tables } of cases)
    test(`a database of ${component} at any number from ${from} on is brought up to date on ${name}`, {
      skip,
    }, async () => {
      let expected: unknown
      for (let stop = from; stop < migrations.length; stop += 1) {
        const db = await open()
        try {
          await migrate(db, component, migrations.slice(0, from))
          await fillTables(db, tables)
          // A start of the version that ended here, and one of today's.
          await migrate(db, component, migrations.slice(0, stop))
          await migrate(db, component, migrations)
          const content = await contentOf(db, tables)
          expected ??= content
          assert.deepEqual(content, expected, `from ${stop}`)
        } finally {
          await db.close()
        }
      }
      assert.notEqual(expected, undefined)
    })
