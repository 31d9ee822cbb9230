import { type Change, change, type Database, insertInto, type Migration, query } from '@warder/storage'

export const preparedCommitMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'commits that the audit log announces',
    statements: [
      // A source is one worker of one run. Its commits below `settled_below` are resolved, except those in `still_open`.
      'CREATE TABLE audit_source (source TEXT NOT NULL PRIMARY KEY, settled_below BIGINT NOT NULL, still_open TEXT NOT NULL)',
      // refused = 1: a start found no such commit; the row prevents a later one.
      'CREATE TABLE audit_commit (source TEXT NOT NULL, number BIGINT NOT NULL, refused BIGINT NOT NULL, PRIMARY KEY (source, number))',
    ],
  },
  {
    number: 2,
    name: 'heads of audit logs',
    // A log that an older program has written is longer than it was.
    older: true,
    statements: [
      'CREATE TABLE audit_head (log TEXT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL, hash TEXT NOT NULL)',
    ],
  },
  {
    number: 3,
    name: 'nodes whose audit logs can be searched',
    older: true,
    statements: [
      // `log` as in audit_head. address: URL for other nodes; empty = none.
      'CREATE TABLE audit_node (log TEXT NOT NULL PRIMARY KEY, node TEXT NOT NULL, address TEXT NOT NULL, started_at BIGINT NOT NULL)',
      // One row: by this key nodes prove to each other that they belong together.
      'CREATE TABLE audit_node_key (id BIGINT NOT NULL PRIMARY KEY, sealed BYTES NOT NULL)',
    ],
  },
]

export interface SourceRow {
  readonly source: string
  readonly settled_below: number
  /** JSON: a list of numbers. */
  readonly still_open: string
}

const sources = query<[], SourceRow>('SELECT source, settled_below, still_open FROM audit_source')
const newSource = insertInto<[string, number, string]>('audit_source', [
  'source',
  'settled_below',
  'still_open',
])
const settle = query<[below: number, open: string, source: string]>(
  'UPDATE audit_source SET settled_below = ?, still_open = ? WHERE source = ?',
)
const newCommit = insertInto<[string, number, number]>('audit_commit', ['source', 'number', 'refused'])
const commitByNumber = query<[source: string, number: number], { readonly refused: number }>(
  'SELECT refused FROM audit_commit WHERE source = ? AND number = ?',
)
const forgetBelow = query<[source: string, number: number]>(
  'DELETE FROM audit_commit WHERE source = ? AND number < ?',
)
const forgetCommits = query<[source: string]>('DELETE FROM audit_commit WHERE source = ?')
const forgetSource = query<[source: string]>('DELETE FROM audit_source WHERE source = ?')

export async function findSources(db: Database): Promise<readonly SourceRow[]> {
  return db.all(sources, [])
}

export function insertSource(source: string): Change {
  return change(newSource, [source, 1, '[]'], 1)
}

/** Part of the prepared commit with this number. */
export function insertPreparedCommit(source: string, number: number): Change {
  return change(newCommit, [source, number, 0], 1)
}

/** Claims the number of a commit that has not happened. The key is unique: only one of the two can exist. */
export function insertRefusedCommit(source: string, number: number): Change {
  return change(newCommit, [source, number, 1], 1)
}

export async function wasRefused(db: Database, source: string, number: number): Promise<boolean> {
  return (await db.get(commitByNumber, [source, number]))?.refused === 1
}

/** @param open numbers below `below` whose commit did not happen, although the log records its success */
export function setResolvedBelow(source: string, below: number, open: readonly number[]): readonly Change[] {
  return [change(forgetBelow, [source, below]), change(settle, [below, JSON.stringify(open), source], 1)]
}

export function deleteSource(source: string): readonly Change[] {
  return [change(forgetCommits, [source]), change(forgetSource, [source])]
}
