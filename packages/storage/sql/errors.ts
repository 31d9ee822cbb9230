import { Failure, failure, StartupError } from '@warder/base'
import type { DatabaseErrors } from './types.ts'

/** A guard of the commit failed: another commit was faster, or the row does not exist. Nothing was changed. */
export class GuardFailed extends Error {
  /** Place of the change in the commit. */
  readonly index: number

  constructor(index: number) {
    super(`the guard of change ${index} did not hold`)
    this.name = 'GuardFailed'
    this.index = index
  }
}

/** A row with this unique key exists already. Nothing was changed. */
export class UniqueViolation extends Error {
  constructor(detail: string) {
    super(detail)
    this.name = 'UniqueViolation'
  }
}

/** The database cannot be written or reached now (disk full, connection lost): callers may try again. */
export class StorageUnavailable extends Failure {
  /** @param detail goes to the log, never to the caller */
  constructor(detail: string, options?: ErrorOptions) {
    super('storage_unavailable', detail, { cause: options?.cause, retryAfterSeconds: 1 })
    this.name = 'StorageUnavailable'
  }
}

/** The answer to a commit was lost: its changes may or may not have been made. */
export class OutcomeUnknown extends StorageUnavailable {}

/** A database that cannot be reached at a start, for a reason that may pass. */
export class DatabaseUnreachable extends StartupError {}

/**
 * Repeats an operation from its read when another commit was faster, at most `times` times.
 * @throws failure('conflict') when every attempt failed
 */
export async function retryOnGuard<R>(times: number, run: () => Promise<R>): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      if (attempt >= times) {
        throw failure('conflict', 'Another request changed the same data concurrently: try again.', {
          cause: error,
        })
      }
    }
  }
}

/** Counts errors of a database. A failed guard or a unique violation is not an error of the database. */
export class ErrorCount {
  readonly counts: { -readonly [Kind in keyof DatabaseErrors]: DatabaseErrors[Kind] } = {
    unavailable: 0,
    unknown_outcome: 0,
    other: 0,
  }

  add(error: unknown): void {
    if (error instanceof GuardFailed || error instanceof UniqueViolation) return
    if (error instanceof StorageUnavailable) this.counts.unavailable += 1
    else if (error instanceof OutcomeUnknown) this.counts.unknown_outcome += 1
    else this.counts.other += 1
  }
}
