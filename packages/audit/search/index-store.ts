import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Change, change, type Database, openSqlite, query } from '@warder/storage'
import type { PartContent, PartRange, SealedPart } from './part.ts'

/** The index of a log, beside its files. */
export const indexFileName = 'index.db'
/** Raised when parts are made in another way: an index of another version is made again. */
const version = 2

interface RangeRow {
  readonly segment: number
  readonly first_seq: number
  readonly last_seq: number
  readonly prev_hash: string
  readonly last_hash: string
  readonly min_time: number
  readonly max_time: number
}

const tables = [
  'CREATE TABLE IF NOT EXISTS part (first_seq INTEGER NOT NULL PRIMARY KEY, last_seq INTEGER NOT NULL, segment INTEGER NOT NULL, prev_hash TEXT NOT NULL, last_hash TEXT NOT NULL, min_time INTEGER NOT NULL, max_time INTEGER NOT NULL) STRICT',
  'CREATE TABLE IF NOT EXISTS part_content (content INTEGER NOT NULL PRIMARY KEY, sealed BLOB NOT NULL) STRICT',
  'CREATE INDEX IF NOT EXISTS part_by_segment ON part (segment, first_seq)',
  `PRAGMA user_version = ${version}`,
].map((text) => change(query(text), []))
const readVersion = query<[], { readonly user_version: number }>('PRAGMA user_version')
const columns = 'segment, first_seq, last_seq, prev_hash, last_hash, min_time, max_time'
const bySegment = query<[segment: number], RangeRow>(
  `SELECT ${columns} FROM part WHERE segment = ? ORDER BY first_seq`,
)
const segments = query<[], { readonly segment: number }>('SELECT DISTINCT segment FROM part')
const contentById = query<[id: number], { readonly sealed: Uint8Array }>(
  'SELECT sealed FROM part_content WHERE content = ?',
)
const insertPart = query<[number, number, number, string, string, number, number]>(
  `INSERT OR REPLACE INTO part (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
)
const insertContent = query<[number, Uint8Array]>(
  'INSERT OR REPLACE INTO part_content (content, sealed) VALUES (?, ?)',
)
const deleteParts = query<[segment: number]>('DELETE FROM part WHERE segment = ?')
const deleteContents = query<[from: number, to: number]>(
  'DELETE FROM part_content WHERE content >= ? AND content < ?',
)

const contentNumbers: Readonly<Record<PartContent, number>> = { blocks: 0, request: 1, object: 2, other: 3 }

function toContentId(first: number, content: PartContent): number {
  return first * 4 + contentNumbers[content]
}

/** The parts of an index. A file that is no index of this version counts as empty. */
export interface IndexStore {
  /** Those of a segment in order, as they are stored: they may be wrong. */
  parts(segment: number): Promise<readonly PartRange[]>
  content(range: PartRange, content: PartContent): Promise<Uint8Array | undefined>
  segments(): Promise<readonly number[]>
  add(parts: readonly SealedPart[]): Promise<void>
  /** Removes the index of a segment. */
  forget(segment: number, ranges: readonly PartRange[]): Promise<void>
  close(): Promise<void>
}

/** Opens the index to search it. @returns undefined when there is none that can be used */
export async function openIndex(folder: string): Promise<IndexStore | undefined> {
  const path = join(folder, indexFileName)
  if (!existsSync(path) || statSync(path).size === 0) return undefined
  return tryOpen(path)
}

/** Opens the index to extend it; a file that cannot be used is made again. */
export async function openOrCreateIndex(folder: string): Promise<IndexStore> {
  const path = join(folder, indexFileName)
  const found = await openIndex(folder)
  if (found !== undefined) return found
  // Nothing is lost: it is made again from the log. SQLite removes the write-ahead log of an empty database.
  rmSync(path, { force: true })
  const db = openSqlite({ path })
  await db.commit(tables)
  return createStore(db)
}

async function tryOpen(path: string): Promise<IndexStore | undefined> {
  let db: Database | undefined
  try {
    db = openSqlite({ path })
    if ((await db.get(readVersion, []))?.user_version !== version) throw new Error('another version')
    await db.all(segments, [])
    return createStore(db)
  } catch {
    await db?.close().catch(() => undefined)
    return undefined
  }
}

function createStore(db: Database): IndexStore {
  return {
    parts: async (segment) => (await db.all(bySegment, [segment])).map(toRange),
    content: async ({ first }, content) => (await db.get(contentById, [toContentId(first, content)]))?.sealed,
    segments: async () => (await db.all(segments, [])).map(({ segment }) => segment),
    async add(parts) {
      await db.commit(parts.flatMap(toInsertions))
    },
    async forget(segment, ranges) {
      const contents = ranges.map(({ first }) => change(deleteContents, [first * 4, first * 4 + 4]))
      await db.commit([change(deleteParts, [segment]), ...contents])
    },
    close: () => db.close(),
  }
}

function toInsertions({ range, contents }: SealedPart): readonly Change[] {
  const { segment, first, last, prevHash, lastHash, minTime, maxTime } = range
  return [
    change(insertPart, [segment, first, last, prevHash, lastHash, minTime, maxTime]),
    ...[...contents].map(([content, sealed]) => change(insertContent, [toContentId(first, content), sealed])),
  ]
}

function toRange(row: RangeRow): PartRange {
  return {
    segment: row.segment,
    first: row.first_seq,
    last: row.last_seq,
    prevHash: row.prev_hash,
    lastHash: row.last_hash,
    minTime: row.min_time,
    maxTime: row.max_time,
  }
}
