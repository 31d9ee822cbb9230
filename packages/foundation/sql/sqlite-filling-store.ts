import { type CopiedRow, type CopiedTable, list, quoted } from './logical-copy-store.ts'
import { classify, openConnection } from './sqlite-connection.ts'

/** Fills the tables of a database that nobody else has open. */
export interface Filling {
  /** Takes the rows that migrations put into a table. */
  begin(table: CopiedTable): void
  /** Of the table that was begun last. */
  add(rows: readonly CopiedRow[]): void
  /** Everything is on disk when it returns. */
  finish(): void
  close(): void
}

/**
 * One transaction without a journal on disk, indexes made when all rows are there: a file that is not finished is of no
 * use, and belongs to a folder that is removed then.
 * @param path of a database with empty tables
 * @throws StorageUnavailable from its methods, when the disk is full
 */
export function fillSqlite(path: string): Filling {
  const db = openConnection(path, false)
  const indexes = db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
    .all() as { readonly name: string; readonly sql: string }[]
  db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN')
  for (const { name } of indexes) db.exec(`DROP INDEX ${quoted(name)}`)
  let insert: ReturnType<typeof db.prepare> | undefined
  const orClassified = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      throw classify(error, path)
    }
  }
  return {
    begin({ name, columns }) {
      const marks = columns.map(() => '?').join(', ')
      orClassified(() => db.exec(`DELETE FROM ${quoted(name)}`))
      insert = db.prepare(`INSERT INTO ${quoted(name)} (${list(columns)}) VALUES (${marks})`)
    },
    add: (rows) =>
      orClassified(() => {
        for (const row of rows) insert?.run(...row)
      }),
    finish() {
      orClassified(() => {
        for (const { sql } of indexes) db.exec(sql)
        // The change of the journal writes the first page, and waits for the disk to have the whole file.
        db.exec('COMMIT; PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL')
      })
      db.close()
    },
    close() {
      if (db.isOpen) db.close()
    },
  }
}
