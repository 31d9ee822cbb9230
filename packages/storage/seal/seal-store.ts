import { change, insertInto, query } from '../sql/query.ts'
import type { Change, Migration } from '../sql/types.ts'

export const sealMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'root key check and data keys',
    statements: [
      'CREATE TABLE root_key (id TEXT NOT NULL PRIMARY KEY, salt BYTES NOT NULL, check_value BYTES NOT NULL, created_at BIGINT NOT NULL, version BIGINT NOT NULL)',
      'CREATE TABLE data_key (id TEXT NOT NULL PRIMARY KEY, wrapped BYTES NOT NULL, created_at BIGINT NOT NULL, version BIGINT NOT NULL)',
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
