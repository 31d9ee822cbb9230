import { DatabaseSync, type StatementSync, constants as sqlite } from 'node:sqlite'
import { BoundedMap, describeFullDisk, describeWriteError, StartupError } from '@warder/base'
import { countOnSqlite, countTable, tableNamed } from './commit-count-store.ts'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import type { DatabaseFiles } from './sqlite-files.ts'
import type { ChangeResult, Row, SqlValue } from './types.ts'

/** A change as it crosses threads. */
export type PlainChange = readonly [text: string, params: readonly SqlValue[], expect: number | undefined]

const maxStatements = 500
const busyTimeoutMs = 10_000

/**
 * Opens a connection with everything that does not belong to us switched off (ATTACH, untrusted schema, extensions).
 * @param path of a file that exists (`createDatabaseFile`)
 */
export function openConnection(path: string, readOnly: boolean): DatabaseSync {
  try {
    const db = new DatabaseSync(path, {
      timeout: busyTimeoutMs,
      enableForeignKeyConstraints: true,
      defensive: true,
    })
    db.exec('PRAGMA journal_mode = WAL')
    db.exec('PRAGMA synchronous = FULL')
    db.exec('PRAGMA trusted_schema = OFF')
    db.exec('PRAGMA cache_size = -16384')
    if (readOnly) db.exec('PRAGMA query_only = ON')
    db.setAuthorizer((action) =>
      action === sqlite.SQLITE_ATTACH || action === sqlite.SQLITE_DETACH
        ? sqlite.SQLITE_DENY
        : sqlite.SQLITE_OK,
    )
    return db
  } catch (error) {
    throw new StartupError(`cannot open the database ${path}: ${describeWriteError(error, path)}`)
  }
}

/** A private database for intermediate results, synchronous: for threads. */
export interface TemporaryDatabase {
  exec(text: string): void
  /** @returns the number of rows that it changed */
  run(text: string, params: readonly SqlValue[]): number
  all(text: string, params: readonly SqlValue[]): readonly Row[]
  close(): void
}

/**
 * Its file has no name and is removed by SQLite itself, also after a crash; what does not fit into the cache is in it
 * (SQLITE_TMPDIR, TMPDIR, /var/tmp).
 */
export function openTemporaryDatabase(): TemporaryDatabase {
  const db = new DatabaseSync('', { defensive: true })
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384')
  const statements = new BoundedMap<string, StatementSync>(maxStatements)
  const prepare = (text: string): StatementSync => {
    const statement = statements.get(text) ?? db.prepare(text)
    statements.set(text, statement)
    return statement
  }
  const classified = <R>(work: () => R): R => {
    try {
      return work()
    } catch (error) {
      throw classify(error, 'a temporary database')
    }
  }
  return {
    exec: (text) => classified(() => db.exec(text)),
    run: (text, params) => classified(() => Number(prepare(text).run(...params).changes)),
    all: (text, params) => classified(() => prepare(text).all(...params) as Row[]),
    close: () => db.close(),
  }
}

interface Prepared {
  readonly statement: StatementSync
  /** The statement returns rows. */
  readonly returns: boolean
}

/** Prepared statements of one connection by their text, the oldest dropped beyond a bound. */
export class Statements {
  readonly #db: DatabaseSync
  readonly #byText = new BoundedMap<string, Prepared>(maxStatements)
  /** Around each unit of a group. */
  readonly savepoint: StatementSync
  readonly release: StatementSync
  #count: StatementSync | undefined

  constructor(db: DatabaseSync) {
    this.#db = db
    this.savepoint = db.prepare('SAVEPOINT unit')
    this.release = db.prepare('RELEASE unit')
  }

  /** Counts the transaction that is open, once the table for it exists (the first migrations create it). */
  count(): void {
    this.#count ??= this.#prepareCount()
    this.#count?.run()
  }

  #prepareCount(): StatementSync | undefined {
    const found = this.#db.prepare(tableNamed.sqlite).get(countTable)
    return found === undefined ? undefined : this.#db.prepare(countOnSqlite)
  }

  get(text: string): Prepared {
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    const prepared = { statement: this.#db.prepare(text), returns: /\bRETURNING\b/i.test(text) }
    this.#byText.set(text, prepared)
    return prepared
  }
}

export type UnitOutcome = { readonly results: readonly ChangeResult[] } | { readonly error: Error }

/**
 * `commitGroup` for files that are still those that were opened: changes in a database or a write-ahead log that
 * another program had removed or replaced is not acknowledged.
 */
export function commitToFiles(
  files: DatabaseFiles,
  db: DatabaseSync,
  statements: Statements,
  units: readonly (readonly PlainChange[])[],
): UnitOutcome[] {
  const refuseAll = (problem: string): UnitOutcome[] =>
    units.map(() => ({ error: new StorageUnavailable(problem) }))
  const before = files.problem()
  if (before !== undefined) return refuseAll(before)
  const outcomes = commitGroup(db, statements, units)
  files.check()
  const after = files.problem()
  return after === undefined ? outcomes : refuseAll(after)
}

/**
 * Group commit: each unit in a savepoint of its own with its guards, one COMMIT (one fsync) for all of them. A unit
 * that fails is taken back alone. When the transaction itself fails (disk full), every unit of the group fails.
 */
function commitGroup(
  db: DatabaseSync,
  statements: Statements,
  units: readonly (readonly PlainChange[])[],
): UnitOutcome[] {
  try {
    db.exec('BEGIN IMMEDIATE')
  } catch (error) {
    const refuseAll = classify(error, db.location())
    return units.map(() => ({ error: refuseAll }))
  }
  try {
    const outcomes: UnitOutcome[] = []
    for (const unit of units)
      outcomes.push(units.length === 1 ? runAlone(statements, unit) : runUnit(db, statements, unit))
    const [only] = outcomes
    if (units.length === 1 && only !== undefined && 'error' in only) {
      db.exec('ROLLBACK')
      return outcomes
    }
    if (outcomes.some((outcome) => 'results' in outcome)) statements.count()
    db.exec('COMMIT')
    return outcomes
  } catch (error) {
    // The transaction is lost as a whole; SQLite may have rolled back already.
    if (db.isTransaction) db.exec('ROLLBACK')
    const lost = classify(error, db.location())
    return units.map(() => ({ error: lost }))
  }
}

function runAlone(statements: Statements, unit: readonly PlainChange[]): UnitOutcome {
  try {
    return { results: runChanges(statements, unit) }
  } catch (error) {
    const known = classify(error)
    if (known instanceof StorageUnavailable) throw error
    return { error: known }
  }
}

function runUnit(db: DatabaseSync, statements: Statements, unit: readonly PlainChange[]): UnitOutcome {
  statements.savepoint.run()
  try {
    const results = runChanges(statements, unit)
    statements.release.run()
    return { results }
  } catch (error) {
    const known = classify(error)
    if (known instanceof StorageUnavailable) throw error
    db.exec('ROLLBACK TO unit')
    statements.release.run()
    return { error: known }
  }
}

function runChanges(statements: Statements, unit: readonly PlainChange[]): ChangeResult[] {
  return unit.map(([text, params, expect], index) => {
    const { statement, returns } = statements.get(text)
    let result: ChangeResult
    if (returns) {
      const rows = statement.all(...params) as Row[]
      result = { changes: rows.length, rows }
    } else {
      result = { changes: Number(statement.run(...params).changes), rows: [] }
    }
    if (expect !== undefined && result.changes !== expect) throw new GuardFailed(index)
    return result
  })
}

const constraintUnique = 2067
const constraintPrimaryKey = 1555
const unavailable = new Set([5, 6, 8, 10, 11, 13, 14, 26]) // BUSY LOCKED READONLY IOERR CORRUPT FULL CANTOPEN NOTADB

/**
 * Classifies an error of SQLite.
 * @param path of the database, for the log: SQLite does not report which disk is full
 */
export function classify(error: unknown, path?: string | null): Error {
  if (error instanceof GuardFailed || error instanceof UniqueViolation) return error
  if (!(error instanceof Error)) return new Error(String(error))
  const code = (error as Error & { errcode?: number }).errcode
  if (code === constraintUnique || code === constraintPrimaryKey) return new UniqueViolation(error.message)
  if (code !== undefined && unavailable.has(code & 0xff))
    return new StorageUnavailable(describeReason(error, path), { cause: error })
  return error
}

function describeReason(error: Error, path: string | null | undefined): string {
  if (path === null || path === undefined) return error.message
  return describeFullDisk(error, path) ?? `${error.message} (${path})`
}
