import type { ReadRecord } from '../reader.ts'

/** An external system that stores the records. */
export interface ForwardTarget {
  /** Used in the name of the position file, in metrics and in log lines. */
  readonly name: 'syslog' | 'collector'
  /**
   * Resolves when all records were accepted, as far as the protocol acknowledges them.
   * @throws when some of them were not: all are sent again
   */
  send(records: readonly ReadRecord[]): Promise<void>
  close(): void
}
