import type { MaybePromise } from '@warder/base'

/** A value of a column. BLOBs come back as Uint8Array, integers as number (all of ours are below 2^53). */
export type SqlValue = string | number | Uint8Array | null
export type Row = Readonly<Record<string, SqlValue>>

/**
 * A statement, declared once at module level: `const byId = query<[id: string], KeyRow>('SELECT … WHERE id = ?')`.
 * One portable text for SQLite and PostgreSQL: `?` placeholders, no dialect words. It is prepared once for each
 * connection and found again by identity of the object.
 */
export interface Query<P extends readonly SqlValue[], R> {
  readonly text: string
  /** The same text with `$1 … $n`, for PostgreSQL. */
  readonly numbered: string
  readonly __params?: P
  readonly __row?: R
}

/**
 * One row change of a commit. `expect` is the guard: how many rows it must touch, else the whole commit is taken
 * back and `GuardFailed` is thrown (another commit was faster, or the row does not exist). A unique key that exists
 * already throws `UniqueViolation`. Without `expect` any number will do.
 */
export interface Change {
  readonly query: Query<readonly SqlValue[], unknown>
  readonly params: readonly SqlValue[]
  readonly expect?: number
}

export interface ChangeResult {
  readonly changes: number
  /** Rows of a `RETURNING` clause, else empty. */
  readonly rows: readonly Row[]
}

/** All of the changes or none of them; durable (fsynced) when the promise resolves. */
export type Commit = (changes: readonly Change[]) => Promise<readonly ChangeResult[]>

export interface Database {
  readonly dialect: 'sqlite' | 'postgresql'
  /** First row or undefined. On SQLite it answers synchronously: `await` it either way. */
  get<P extends readonly SqlValue[], R>(query: Query<P, R>, params: P): MaybePromise<R | undefined>
  all<P extends readonly SqlValue[], R>(query: Query<P, R>, params: P): MaybePromise<readonly R[]>
  readonly commit: Commit
  /**
   * SQLite: a number that changes with every commit to the file by any process (one cheap read of shared memory).
   * undefined if the engine has no such number: versions of rows are read one by one then.
   */
  readonly dataVersion?: () => number
  /**
   * Tells other processes and nodes that rows of `topic` with this key changed (part of the commit on PostgreSQL:
   * NOTIFY; on SQLite nothing is sent, readers see the version again at each use).
   */
  changed(topic: string, key: string): Change
  /** Listens for `changed`. On SQLite never called. `key` undefined = anything may have changed (connection was lost). */
  watch(topic: string, listener: (key: string | undefined) => void): () => void
  /**
   * The message for the operator when writes would be lost: another program removed or replaced a file of the
   * SQLite database. Every commit is refused then, and `ping` fails. undefined = no such problem.
   */
  problem(): string | undefined
  /** For metrics. */
  load(): DatabaseLoad
  /** One trivial read, for /health. Milliseconds it took; throws when the database does not answer. */
  ping(): Promise<number>
  close(): Promise<void>
}

/** Failures since the database was opened. */
export interface DatabaseErrors {
  readonly unavailable: number
  /** The answer to a commit was lost. */
  readonly unknown_outcome: number
  readonly other: number
}

/** Load and errors of a database. */
export interface DatabaseLoad {
  /** Commits that wait for the writer thread, or for a connection of the pool. */
  readonly waitingCommits: number
  /** PostgreSQL: connections for commits. */
  readonly pool?: { readonly used: number; readonly idle: number }
  readonly errors: DatabaseErrors
}

/** A cache over rows that is never stale about rights and states: see `createRowCache` in `cache.ts`. */
export interface RowCache<V> {
  /** undefined = no such row. */
  get(key: string): MaybePromise<V | undefined>
  forget(key: string): void
  readonly size: number
  /** Uses that found an entry, and those that had to load one. */
  readonly uses: { readonly hits: number; readonly misses: number }
}

/** The backup that a database was filled from. */
export interface RestoredBackup {
  /** SHA-256 of the file, in lower-case hexadecimal digits. */
  readonly digest: string
  /** When the backup was made, and restored. Unix milliseconds. */
  readonly madeAt: number
  readonly restoredAt: number
}

export interface Migration {
  /** 1, 2, 3 … without gaps. Never changed once released: its checksum is kept in the database. */
  readonly number: number
  readonly name: string
  /**
   * Compatibility with older programs, which do not know this migration. true: they continue, and may be
   * started. A sentence: they continue during a rolling upgrade and ignore the features in this sentence, but
   * may not be started. undefined: they do not work; every node must be stopped first.
   */
  readonly older?: true | string
  /**
   * Portable DDL, one statement an element; `BYTES` becomes BLOB or BYTEA, `BIGINT` a 64-bit integer. Statements that
   * begin with a comment of the name `sqlite` or `postgresql` are for that engine alone.
   */
  readonly statements: readonly string[]
  /**
   * Converts rows to the new schema, before the statements and in separate commits. It may be interrupted,
   * may run again, and may run on two nodes at once: it must not change rows that are already converted.
   */
  readonly convert?: (db: Database) => Promise<void>
}
