import type { StatementSync } from 'node:sqlite'
import type { MessagePort } from 'node:worker_threads'
import { ErrorCount, StorageUnavailable } from './errors.ts'
import { query, requireStorableText } from './query.ts'
import {
  classify,
  commitToFiles,
  openConnection,
  type PlainChange,
  Statements,
  type UnitOutcome,
} from './sqlite-connection.ts'
import { createDatabaseFile, type DatabaseFiles, watchDatabaseFiles } from './sqlite-files.ts'
import { type CommitAnswer, type CommitMessage, fromAnswer, type ProblemMessage } from './sqlite-writer.ts'
import type { Change, ChangeResult, Commit, Database, Query, SqlValue } from './types.ts'

/** Units that may wait for the writer; beyond it a commit is refused, so that memory stays bounded. */
const maxWaiting = 20_000
const nothing = query<[], { one: number }>('SELECT 1 AS one')

/**
 * SQLite through `node:sqlite`: WAL, FULL, one file.
 * @param options.writer port of the writer thread; without it this connection writes for itself (commands, tests),
 *   and commits that are asked for in the same turn still share one fsync
 */
export function openSqlite(options: {
  readonly path: string
  readonly writer?: MessagePort | undefined
}): Database {
  // With a writer the file exists: `startSqliteWriter` creates it before any connection of this process.
  if (options.writer === undefined) createDatabaseFile(options.path)
  const db = openConnection(options.path, options.writer !== undefined)
  const prepared = new WeakMap<object, StatementSync>()
  const getStatement = (statement: Query<readonly SqlValue[], unknown>): StatementSync => {
    let known = prepared.get(statement)
    if (known === undefined) {
      known = db.prepare(statement.text)
      prepared.set(statement, known)
    }
    return known
  }
  const version = createVersionReader(db)
  const errors = new ErrorCount()
  const writer =
    options.writer === undefined
      ? createOwnWriter(db, watchDatabaseFiles(options.path), version.committed, errors)
      : createRemoteWriter(options.writer, acknowledge, errors)
  const database: Database = {
    dialect: 'sqlite',
    get<P extends readonly SqlValue[], R>(statement: Query<P, R>, params: P): R | undefined {
      requireStorableText(params)
      return runClassified(
        () => getStatement(statement as Query<readonly SqlValue[], unknown>).get(...params) as R | undefined,
      )
    },
    all<P extends readonly SqlValue[], R>(statement: Query<P, R>, params: P): readonly R[] {
      requireStorableText(params)
      const rows = runClassified(() =>
        getStatement(statement as Query<readonly SqlValue[], unknown>).all(...params),
      )
      return rows as unknown as readonly R[]
    },
    commit: writer.commit,
    dataVersion: version.read,
    changed: () => noChange,
    watch: () => () => undefined,
    problem: writer.problem,
    load: () => ({ waitingCommits: writer.waiting(), errors: errors.counts }),
    async ping() {
      const problem = writer.problem()
      if (problem !== undefined) throw new StorageUnavailable(problem)
      const began = performance.now()
      await database.get(nothing, [])
      return performance.now() - began
    },
    async close() {
      await writer.close()
      db.close()
    },
  }
  return database
}

/** Turns thrown errors into those that callers understand. */
function runClassified<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw classify(error)
  }
}

interface VersionReader {
  /** The pragma, read once for each poll of the event loop. */
  readonly read: () => number
  /** After a commit of this very connection, which the pragma does not count. */
  readonly committed: () => void
}

/** The pragma is a number of 32 bits. */
const beyondPragma = 2 ** 32

/** Groups of commits that any connection of this thread has heard of. */
let acknowledged = 0

function acknowledge(): void {
  acknowledged += 1
}

/**
 * The event loop polls the operating system for readable connections, handles those, and polls again. A request that is
 * handled before the next poll had begun before the last one, so a version read since then is not older than the
 * request. Commits of this thread end that memory when they are acknowledged, which can be before the next poll: reads
 * after `await commit()` see them, over any connection.
 */
function createVersionReader(db: ReturnType<typeof openConnection>): VersionReader {
  const pragma = db.prepare('PRAGMA data_version')
  pragma.setReturnArrays(true)
  const { nodeTiming } = performance
  let own = 0
  let known: number | undefined
  let knownInLoop = 0
  let knownAfterEvents = 0
  let knownAfterCommits = 0
  return {
    read() {
      // One of them is another number whenever the loop has asked in between: a full list of events is followed by
      // the next in the same round.
      const { loopCount, events } = nodeTiming.uvMetricsInfo
      if (
        known !== undefined &&
        loopCount === knownInLoop &&
        events === knownAfterEvents &&
        acknowledged === knownAfterCommits
      )
        return known
      const [version] = runClassified(() => pragma.get() as unknown as readonly [number])
      known = own * beyondPragma + version
      knownInLoop = loopCount
      knownAfterEvents = events
      knownAfterCommits = acknowledged
      return known
    },
    committed() {
      own += 1
      acknowledge()
    },
  }
}

/** A placeholder that is dropped before the commit: readers of SQLite check the version at each use. */
const noChange: Change = { query: query('SELECT 1'), params: [] }

function toPlainChanges(changes: readonly Change[]): PlainChange[] {
  const units: PlainChange[] = []
  for (const one of changes) if (one !== noChange) units.push([one.query.text, one.params, one.expect])
  return units
}

interface Writer {
  readonly commit: Commit
  /** Commits that have no outcome yet. */
  waiting(): number
  problem(): string | undefined
  close(): Promise<void>
}

interface Waiting {
  resolve(results: readonly ChangeResult[]): void
  reject(error: Error): void
}

function settle(waiting: Waiting, outcome: UnitOutcome, errors: ErrorCount): void {
  if ('results' in outcome) waiting.resolve(outcome.results)
  else {
    errors.add(outcome.error)
    waiting.reject(outcome.error)
  }
}

function createRemoteWriter(port: MessagePort, onCommitted: () => void, errors: ErrorCount): Writer {
  const waiting = new Map<number, Waiting>()
  let next = 0
  let closed = false
  let problem: string | undefined
  port.on('message', (message: readonly CommitAnswer[] | ProblemMessage) => {
    if ('problem' in message) {
      problem = message.problem
      return
    }
    onCommitted()
    for (const answer of message) {
      const one = waiting.get(answer[0])
      waiting.delete(answer[0])
      if (one !== undefined) settle(one, fromAnswer(answer), errors)
    }
    if (waiting.size === 0) port.unref()
  })
  port.on('close', () => {
    closed = true
    for (const one of waiting.values()) one.reject(new StorageUnavailable('the writer has ended'))
    waiting.clear()
  })
  port.unref()
  return {
    commit: (changes) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new StorageUnavailable('the writer has ended'))
        if (waiting.size >= maxWaiting)
          return reject(new StorageUnavailable('too many commits wait for the writer'))
        const id = next++
        // A message that cannot be sent gets no answer.
        port.postMessage({ id, changes: toPlainChanges(changes) } satisfies CommitMessage)
        if (waiting.size === 0) port.ref()
        waiting.set(id, { resolve, reject })
      }),
    waiting: () => waiting.size,
    problem: () => problem,
    async close() {
      port.close()
    },
  }
}

function createOwnWriter(
  db: ReturnType<typeof openConnection>,
  files: DatabaseFiles,
  onCommitted: () => void,
  errors: ErrorCount,
): Writer {
  const statements = new Statements(db)
  let queue: { readonly changes: PlainChange[]; readonly waiting: Waiting }[] = []
  const flush = (): void => {
    const group = queue
    queue = []
    if (group.length === 0) return
    const outcomes = commitToFiles(
      files,
      db,
      statements,
      group.map(({ changes }) => changes),
    )
    onCommitted()
    for (const [index, { waiting }] of group.entries()) {
      settle(waiting, outcomes[index] ?? { error: new Error('no outcome') }, errors)
    }
  }
  return {
    commit: (changes) =>
      new Promise((resolve, reject) => {
        queue.push({ changes: toPlainChanges(changes), waiting: { resolve, reject } })
        if (queue.length === 1) setImmediate(flush)
      }),
    waiting: () => queue.length,
    problem() {
      files.check()
      return files.problem()
    },
    async close() {
      flush()
    },
  }
}
