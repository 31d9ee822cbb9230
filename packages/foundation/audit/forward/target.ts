import type { ReadRecord } from '../reader.ts'

/** Somebody else who keeps the records. */
export interface ForwardTarget {
  /** Of the file that says how far it has got, of metrics and of log lines. */
  readonly name: 'syslog' | 'collector'
  /**
   * Resolves when all of them were taken, as far as the protocol tells.
   * @throws when they, or some of them, were not: they are sent again
   */
  send(records: readonly ReadRecord[]): Promise<void>
  close(): void
}
