import { GuardFailed, OutcomeUnknown, StorageUnavailable, UniqueViolation } from './errors.ts'
import type { DatabaseErrors } from './types.ts'

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
