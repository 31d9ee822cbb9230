import { createHash } from 'node:crypto'
import { StartupError } from '@warder/base'
import { hasTable, isEmptyDatabase } from './commit-count-store.ts'
import { UniqueViolation } from './errors.ts'
import { insertOlderNote, olderTable, readOlderNotes } from './older-programs-store.ts'
import { change, insertInto, query } from './query.ts'
import type { Database, Migration } from './types.ts'

const table = `CREATE TABLE IF NOT EXISTS schema_migration (
  component TEXT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL,
  PRIMARY KEY (component, number))`

interface Applied {
  readonly number: number
  readonly name: string
  readonly checksum: string
}

const applied = query<[component: string], Applied>(
  'SELECT number, name, checksum FROM schema_migration WHERE component = ? ORDER BY number',
)
const record = insertInto<[string, number, string, string, number]>('schema_migration', [
  'component',
  'number',
  'name',
  'checksum',
  'applied_at',
])

/** A migration that was carried out by a newer program. */
export interface AheadMigration {
  readonly number: number
  readonly name: string
  readonly older: Migration['older']
}

/** The difference between a database's migrations and those that the program knows. */
export interface MigrationPlan {
  /** Migrations of the component that were carried out. */
  readonly done: number
  readonly pending: readonly Migration[]
  /** Applied migrations that the program does not know. */
  readonly ahead: readonly AheadMigration[]
}

/**
 * Compares the applied migrations with the known ones; changes nothing.
 * @throws StartupError when a released migration was changed
 */
export async function planMigration(
  db: Database,
  component: string,
  migrations: readonly Migration[],
): Promise<MigrationPlan> {
  const done = (await isEmptyDatabase(db)) ? [] : await db.all(applied, [component])
  checkHistory(component, migrations, done)
  const unknown = done.slice(migrations.length)
  const older =
    unknown.length > 0 && (await hasTable(db, olderTable)) ? await readOlderNotes(db, component) : undefined
  return {
    done: done.length,
    pending: migrations.slice(done.length),
    ahead: unknown.map(({ number, name }) => ({ number, name, older: older?.get(number) })),
  }
}

/** @throws StartupError when the database is newer than the program, and the program is not compatible with it */
export function requireUsable(component: string, known: number, { ahead }: MigrationPlan): void {
  const stops = ahead.find(({ older }) => older !== true)
  if (stops === undefined) return
  const reason = stops.older === undefined ? '' : ` (a program without it ${stops.older})`
  throw new StartupError(
    `the database is newer than this program: ${component} has migration ${stops.number} (${stops.name})${reason}, but ` +
      `this program knows ${known}; start the newer version of Warder`,
  )
}

/**
 * Brings the tables of a component up to date. Each migration is one commit whose first change claims its number, so
 * two processes that start at once cannot both carry it out: the second waits, then finds it done.
 * @throws StartupError when the database is newer than the program, or a released migration was changed
 */
export async function migrate(
  db: Database,
  component: string,
  migrations: readonly Migration[],
  now: () => number = Date.now,
): Promise<void> {
  for (const [index, migration] of migrations.entries()) {
    if (migration.number !== index + 1) {
      throw new StartupError(
        `${component}: migration ${migration.number} is at the position of migration ${index + 1}`,
      )
    }
  }
  // Not IF NOT EXISTS alone: a start that is refused afterwards writes nothing, and a commit counts itself.
  if (await isEmptyDatabase(db)) await createTable(db)
  for (;;) {
    const plan = await planMigration(db, component, migrations)
    requireUsable(component, migrations.length, plan)
    const [next] = plan.pending
    if (next === undefined) return
    await next.convert?.(db)
    const told = (await hasTable(db, olderTable)) ? insertOlderNote(component, next) : []
    try {
      await db.commit([
        change(record, [component, next.number, next.name, computeChecksum(next), now()]),
        ...next.statements
          .filter((statement) => isForDialect(statement, db.dialect))
          .map((statement) => change(query<[], unknown>(toDialect(statement, db.dialect)), [])),
        ...told,
      ])
    } catch (error) {
      // Another process carried it out while we waited: read again.
      if (!(error instanceof UniqueViolation)) throw error
    }
  }
}

function checkHistory(component: string, migrations: readonly Migration[], done: readonly Applied[]): void {
  for (const [index, migration] of migrations.entries()) {
    const row = done[index]
    if (row === undefined) return
    if (row.number !== migration.number || row.checksum !== computeChecksum(migration)) {
      throw new StartupError(
        `the database was created by another version of Warder: migration ${row.number} of ${component} (${row.name}) ` +
          'differs from the one of this program; restore a backup, or start the version that created it',
      )
    }
  }
}

/** Two processes may create the table at once; PostgreSQL then refuses one of them, and the second try finds it. */
async function createTable(db: Database): Promise<void> {
  const statement = change(query<[], unknown>(toDialect(table, db.dialect)), [])
  try {
    await db.commit([statement])
  } catch {
    await db.commit([statement])
  }
}

function computeChecksum(migration: Migration): string {
  return createHash('sha256').update(migration.statements.join('\n;\n')).digest('hex')
}

/** Statements that begin with the comment `sqlite` or `postgresql` are for that engine alone: triggers differ. */
const onlyFor = /^\/\* (sqlite|postgresql) \*\/ /

function isForDialect(ddl: string, dialect: Database['dialect']): boolean {
  const only = onlyFor.exec(ddl)?.[1]
  return only === undefined || only === dialect
}

/**
 * The dialect's text of portable DDL. `BYTES` is BLOB or BYTEA; a table is STRICT on SQLite, and WITHOUT
 * ROWID unless it contains `/* rowid *\/` (wide rows); text is compared by code point on PostgreSQL too, as
 * SQLite does.
 */
function toDialect(statement: string, dialect: Database['dialect']): string {
  const ddl = statement.replace(onlyFor, '')
  if (dialect === 'postgresql') {
    return ddl
      .replace(/\/\* rowid \*\//g, '')
      .replace(/\bBYTES\b/g, 'BYTEA')
      .replace(/\bTEXT\b/g, 'TEXT COLLATE "C"')
  }
  const text = ddl.replace(/\bBYTES\b/g, 'BLOB').replace(/\bBIGINT\b/g, 'INTEGER')
  if (!/^\s*CREATE TABLE/i.test(text)) return text
  const rowid = /\/\* rowid \*\//.test(text) || !/PRIMARY KEY/i.test(text)
  return `${text.replace(/\/\* rowid \*\//g, '').trimEnd()} STRICT${rowid ? '' : ', WITHOUT ROWID'}`
}
