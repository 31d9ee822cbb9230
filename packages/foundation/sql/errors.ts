/** A guard of the commit did not hold: somebody else was faster, or the row is not there. Nothing was changed. */
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

/** The database cannot be written or reached now (disk full, connection lost). Nothing was changed. */
export class StorageUnavailable extends Error {
  constructor(detail: string, options?: ErrorOptions) {
    super(detail, options)
    this.name = 'StorageUnavailable'
  }
}
