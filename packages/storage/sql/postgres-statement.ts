import { createHash } from 'node:crypto'
import pg from 'pg'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
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

/** Nothing was changed, and the same may succeed when it is tried again. */
export class Retryable extends Error {}

const readOnly = '25006'

/** Whether the server answered, and its connection is of use to the next commit. */
export function canGoOn(error: unknown): boolean {
  return error instanceof GuardFailed || (error instanceof pg.DatabaseError && error.code !== readOnly)
}

/** Whether the server reported that it did not commit. A server that is shutting down may nevertheless have committed. */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR'
}

/** Classifies an error of the client library or of the server. */
export function classify(error: unknown): Error {
  if (error instanceof GuardFailed) return error
  const {
    code,
    message = String(error),
    detail,
  } = (error ?? {}) as { code?: string; message?: string; detail?: string }
  if (code === '23505') return new UniqueViolation(detail ?? message)
  if (code === '40001' || code === '40P01') return new Retryable(message)
  // After a failover, a former primary: another connection may find the host that accepts writes.
  if (code === readOnly) return new StorageUnavailable(message, { cause: error })
  // Class 53 insufficient resources, 57 operator intervention, 58 system error, 08 connection; no code = the socket.
  const unavailable =
    code === undefined || /^(08|53|57|58)/.test(code) || /^(ECONN|EPIPE|ETIMEDOUT)/.test(code)
  if (unavailable) return new StorageUnavailable(message, { cause: error })
  return error instanceof Error ? error : new Error(message)
}
