import { randomUUID } from 'node:crypto'
import { hasTable } from '../sql/commit-count-store.ts'
import { change, insertInto, query } from '../sql/query.ts'
import type { Change, Database, Migration } from '../sql/types.ts'

const sourceTable = 'root_key_source'

export const sealMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'root key check and data keys',
    statements: [
      'CREATE TABLE root_key (id TEXT NOT NULL PRIMARY KEY, salt BYTES NOT NULL, check_value BYTES NOT NULL, created_at BIGINT NOT NULL, version BIGINT NOT NULL)',
      'CREATE TABLE data_key (id TEXT NOT NULL PRIMARY KEY, wrapped BYTES NOT NULL, created_at BIGINT NOT NULL, version BIGINT NOT NULL)',
    ],
  },
  {
    number: 2,
    name: 'sources of the root key',
    older: true,
    statements: [
      `CREATE TABLE ${sourceTable} (id TEXT NOT NULL PRIMARY KEY, source TEXT NOT NULL, description TEXT NOT NULL, wrapped BYTES, created_at BIGINT NOT NULL)`,
    ],
  },
  {
    number: 3,
    name: 'recovery of the root key, and records of it for the audit log',
    older: true,
    statements: [
      'CREATE TABLE root_key_recovery (id TEXT NOT NULL PRIMARY KEY, wrapped BYTES NOT NULL)',
      'CREATE TABLE root_key_record (id TEXT NOT NULL PRIMARY KEY, record BYTES NOT NULL)',
    ],
  },
]

export interface RootKeyRow {
  readonly salt: Uint8Array
  readonly check_value: Uint8Array
  readonly version: number
}

export interface DataKeyRow {
  readonly id: string
  readonly wrapped: Uint8Array
  /** Milliseconds since 1970. */
  readonly created_at: number
  readonly version: number
}

/** A source of the root key. Without rows: the one with which the database was first sealed, which holds the key itself. */
export interface RootKeySourceRow {
  readonly id: string
  /** A value of `root_key_source`. */
  readonly source: string
  readonly description: string
  /** null: the source holds the root key itself. */
  readonly wrapped: Uint8Array | null
  /** Milliseconds since 1970. */
  readonly created_at: number
}

/** The one row of `root_key`. */
const only = 'root'

export const readRootKeyRow = query<[id: string], RootKeyRow>(
  'SELECT salt, check_value, version FROM root_key WHERE id = ?',
)
export const readDataKeys = query<[], DataKeyRow>(
  'SELECT id, wrapped, created_at, version FROM data_key ORDER BY created_at, id',
)
export const rootKeyParameters: [id: string] = [only]

const insertRootKey = insertInto<[string, Uint8Array, Uint8Array, number, number]>('root_key', [
  'id',
  'salt',
  'check_value',
  'created_at',
  'version',
])
const insertDataKey = insertInto<[string, Uint8Array, number, number]>('data_key', [
  'id',
  'wrapped',
  'created_at',
  'version',
])
const updateRootKey = query<[Uint8Array, Uint8Array, string, number], unknown>(
  'UPDATE root_key SET salt = ?, check_value = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const touchRootKey = query<[string, number], unknown>(
  'UPDATE root_key SET version = version + 1 WHERE id = ? AND version = ?',
)
const updateDataKey = query<[Uint8Array, string, number], unknown>(
  'UPDATE data_key SET wrapped = ?, version = version + 1 WHERE id = ? AND version = ?',
)

export function addRootKey(salt: Uint8Array, checkValue: Uint8Array, createdAt: number): Change {
  return change(insertRootKey, [only, salt, checkValue, createdAt, 1], 1)
}

export function addDataKey(id: string, wrapped: Uint8Array, createdAt: number): Change {
  return change(insertDataKey, [id, wrapped, createdAt, 1], 1)
}

/** Guards that no commit changed the root key or added a data key since the row was read. */
export function guardRootKey(version: number): Change {
  return change(touchRootKey, [only, version], 1)
}

export function replaceRootKey(salt: Uint8Array, checkValue: Uint8Array, version: number): Change {
  return change(updateRootKey, [salt, checkValue, only, version], 1)
}

export function rewrapDataKey(id: string, wrapped: Uint8Array, version: number): Change {
  return change(updateDataKey, [wrapped, id, version], 1)
}

const readSources = query<[], RootKeySourceRow>(
  `SELECT id, source, description, wrapped, created_at FROM ${sourceTable} ORDER BY created_at DESC, id LIMIT 8`,
)
const insertSource = insertInto<[string, string, string, Uint8Array | null, number]>(sourceTable, [
  'id',
  'source',
  'description',
  'wrapped',
  'created_at',
])
const deleteSources = query<[], unknown>(`DELETE FROM ${sourceTable}`)

/** The sources of the root key, the newest first; none where an older version sealed the database. */
export async function listRootKeySources(db: Database): Promise<readonly RootKeySourceRow[]> {
  return (await hasTable(db, sourceTable)) ? db.all(readSources, []) : []
}

export function addRootKeySource(row: Omit<RootKeySourceRow, 'id'>): Change {
  return change(insertSource, [randomUUID(), row.source, row.description, row.wrapped, row.created_at], 1)
}

/** In the commit that changes the root key: all wrap the previous one. */
export function deleteRootKeySources(): Change {
  return change(deleteSources, [])
}

const readRecovery = query<[id: string], { readonly wrapped: Uint8Array }>(
  'SELECT wrapped FROM root_key_recovery WHERE id = ?',
)
const insertRecovery = insertInto<[string, Uint8Array]>('root_key_recovery', ['id', 'wrapped'])
const deleteRecovery = query<[id: string], unknown>('DELETE FROM root_key_recovery WHERE id = ?')

/** The set with which the root key is recovered; undefined: there is none. */
export async function findRecoveryRow(db: Database): Promise<Uint8Array | undefined> {
  return (await hasTable(db, 'root_key_recovery')) ? (await db.get(readRecovery, [only]))?.wrapped : undefined
}

export function replaceRecovery(wrapped: Uint8Array): readonly Change[] {
  return [change(deleteRecovery, [only]), change(insertRecovery, [only, wrapped], 1)]
}

const readRecords = query<[], { readonly id: string; readonly record: Uint8Array }>(
  'SELECT id, record FROM root_key_record ORDER BY id LIMIT 100',
)
const insertRecord = insertInto<[string, Uint8Array]>('root_key_record', ['id', 'record'])
const deleteRecord = query<[id: string], unknown>('DELETE FROM root_key_record WHERE id = ?')

/** Records that the audit log does not have yet. */
export async function listRecordRows(db: Database) {
  return db.all(readRecords, [])
}

const countRecords = query<[], { readonly count: number }>('SELECT COUNT(*) AS count FROM root_key_record')

export async function countRootKeyRecords(db: Database): Promise<number> {
  return Number((await db.get(countRecords, []))?.count ?? 0)
}

export function addRecord(id: string, record: Uint8Array): Change {
  return change(insertRecord, [id, record], 1)
}

export function removeRootKeyRecord(id: string): Change {
  return change(deleteRecord, [id])
}
