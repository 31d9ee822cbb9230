import { Failure, StartupError } from '@warder/base'

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
