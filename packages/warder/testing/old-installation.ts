import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { preparedCommitMigrations } from '@warder/audit'
import { authService } from '@warder/auth'
import { kmsService } from '@warder/kms'
import {
  change,
  commitCountMigrations,
  type Database,
  insertInto,
  leaseMigrations,
  type Migration,
  migrate,
  type SqlValue,
  schemaMigrations,
  sealMigrations,
} from '@warder/storage'

type Cell = string | number | null | { readonly base64: string }

/** Rows by table and column. */
export type OldTables = Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>

interface OldDatabase {
  readonly schema: Readonly<Record<string, number>>
  readonly tables: OldTables
}

/** An installation that was written by a version of before. */
export interface OldInstallation {
  readonly password: string
  readonly rootKey: string
  readonly keys: Readonly<Record<'aes' | 'ec' | 'rsa' | 'mac', string>>
  readonly data: string
  readonly jwe: Readonly<Record<string, unknown>>
  readonly signature: Readonly<Record<string, unknown>>
  readonly auth: OldDatabase
  readonly kms: OldDatabase
}

/** @param name of a file in `scenarios/fixtures` */
export function oldInstallation(name: string): OldInstallation {
  const file = new URL(`../scenarios/fixtures/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as OldInstallation
}

/** Migrations of everything that has tables in a database. */
export const components: Readonly<Record<string, readonly Migration[]>> = {
  schema: schemaMigrations,
  auth: authService.migrations,
  kms: kmsService.migrations,
  audit: preparedCommitMigrations,
  'commit count': commitCountMigrations,
  lease: leaseMigrations,
  seal: sealMigrations,
}

/** Fills an empty database with the contents of that version. */
export async function fillOld(db: Database, { schema, tables }: OldDatabase): Promise<void> {
  for (const [component, number] of Object.entries(schema))
    await migrate(db, component, (components[component] ?? []).slice(0, number))
  await fillTables(db, tables)
}

/** Puts rows into tables that are there. */
export async function fillTables(db: Database, tables: OldTables): Promise<void> {
  for (const [table, rows] of Object.entries(tables)) {
    // Migrations put rows into some.
    await db.commit([change({ text: `DELETE FROM ${table}`, numbered: `DELETE FROM ${table}` }, [])])
    for (const row of rows) {
      const values = Object.values(row).map(
        (cell): SqlValue =>
          cell !== null && typeof cell === 'object' ? Buffer.from(cell.base64, 'base64') : cell,
      )
      await db.commit([change(insertInto(table, Object.keys(row)), values)])
    }
  }
}

/** A home as that version left it, without its databases. */
export function oldHome(home: string, { rootKey }: OldInstallation): void {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'root.key'), rootKey, { mode: 0o600 })
}
