import { StartupError } from '@warder/base'
import { type CopiedRow, type CopiedTable, formatColumns, quoteName } from './logical-copy-store.ts'
import { classify, openConnection } from './sqlite-connection.ts'

/** Fills the tables of a database that no other process has open. */
export interface Filling {
  /** Takes the rows that migrations put into a table. */
  begin(table: CopiedTable): void
  /** Of the table that was begun last. */
  add(rows: readonly CopiedRow[]): void
  /** Everything is on disk when it returns. */
  finish(): void
  close(): void
}

/** Rows of one statement: half the time of one row each, for short rows. */
const rowsAtOnce = 50
/** Pages in memory, KiB: each additional rewrite of a page costs a write. */
const cacheKib = 65_536

/**
 * One transaction without a journal on disk, indexes and triggers made when all rows are there: a file that is not finished is of no
 * use, and belongs to a folder that is removed then.
 * @param path of a database with empty tables
 * @throws StorageUnavailable from its methods, when the disk is full
 */
export function fillSqlite(path: string): Filling {
  const db = openConnection(path, false)
  // Triggers do not fire for rows of the backup, since it contains the rows that they wrote.
  const later = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type",
    )
    .all() as { readonly type: string; readonly name: string; readonly sql: string }[]
  db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF')
  db.exec(`PRAGMA cache_size = -${cacheKib}; BEGIN`)
  for (const { type, name } of later) db.exec(`DROP ${type} ${quoteName(name)}`)
  let insertion: ReturnType<typeof createInsert> | undefined
  const runClassified = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      throw classify(error, path)
    }
  }
  return {
    begin({ name, columns }) {
      runClassified(() => db.exec(`DELETE FROM ${quoteName(name)}`))
      insertion = createInsert(db, name, columns)
    },
    add: (rows) => runClassified(() => insertion?.(rows)),
    finish() {
      runClassified(() => {
        for (const { sql } of later) db.exec(sql)
        // Changing the journal mode writes the first page and syncs the whole file to disk.
        db.exec('COMMIT; PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL')
      })
      db.close()
    },
    close() {
      if (db.isOpen) db.close()
    },
  }
}

function createInsert(
  db: ReturnType<typeof openConnection>,
  name: string,
  columns: readonly string[],
): (rows: readonly CopiedRow[]) => void {
  const marks = `(${columns.map(() => '?').join(', ')})`
  const createStatement = (count: number) =>
    db.prepare(
      `INSERT INTO ${quoteName(name)} (${formatColumns(columns)}) VALUES ${Array(count).fill(marks).join(', ')}`,
    )
  const [one, many] = [createStatement(1), createStatement(rowsAtOnce)]
  return (rows) => {
    // Values of a row that has more, or fewer, would come into the next.
    const other = rows.find((row) => row.length !== columns.length)
    if (other !== undefined)
      throw new StartupError(
        `a row of the table ${name} has ${other.length} values, and the table ${columns.length} columns`,
      )
    const whole = rows.length - (rows.length % rowsAtOnce)
    for (let at = 0; at < whole; at += rowsAtOnce) many.run(...rows.slice(at, at + rowsAtOnce).flat())
    for (const row of rows.slice(whole)) one.run(...row)
  }
}
