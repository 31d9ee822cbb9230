import pg from 'pg'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'

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
  // After a failover, the server of before: another connection may find the one that takes writes.
  if (code === readOnly) return new StorageUnavailable(message, { cause: error })
  // Class 53 insufficient resources, 57 operator intervention, 58 system error, 08 connection; no code = the socket.
  const unavailable =
    code === undefined || /^(08|53|57|58)/.test(code) || /^(ECONN|EPIPE|ETIMEDOUT)/.test(code)
  if (unavailable) return new StorageUnavailable(message, { cause: error })
  return error instanceof Error ? error : new Error(message)
}
