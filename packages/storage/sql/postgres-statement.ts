import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Query, SqlValue } from './types.ts'

/** The query of the client library for a statement. */
export function toQueryConfig(
  statement: Query<readonly SqlValue[], unknown>,
  params: readonly SqlValue[],
): pg.QueryConfig {
  return { name: getStatementName(statement), text: statement.numbered, values: params.map(toDriver) }
}

const names = new WeakMap<object, string>()

/** Prepared statements are found again by name; equal texts share one. */
function getStatementName(statement: Query<readonly SqlValue[], unknown>): string {
  let name = names.get(statement)
  if (name === undefined) {
    name = `w_${createHash('sha256').update(statement.numbered).digest('hex').slice(0, 40)}`
    names.set(statement, name)
  }
  return name
}

function toDriver(value: SqlValue): string | number | Buffer | null {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value
}

const int8 = 20

/** 64-bit integers come as numbers: all of ours are below 2^53. */
export function getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === int8) return Number
  return pg.types.getTypeParser(oid, format as 'text')
}
