/** The data key of a sealed value is not in the database, or not under this process's root key. It may come to be. */
export class UnknownDataKey extends Error {
  constructor(detail: string) {
    super(detail)
    this.name = 'UnknownDataKey'
  }
}
