import type { KeyObject } from 'node:crypto'
import { isRemovalSignedBy, type SignedCheckpoint } from './checkpoint.ts'
import { parseRecordJson } from './record.ts'

/** Name for the remover of a file whose removal was not recorded, or not signed. */
export const unknownRemover = 'unknown'

export const removalOperation = 'audit.file_removed'
const marked = `"operation":"${removalOperation}"`

/** Records of the chain about files that an operator removed. */
export class RecordedRemovals {
  readonly #found = new Set<string>()

  /** @param line a record whose position in the chain was checked */
  add(line: Buffer): void {
    if (line.includes(marked)) this.addRecord(parseRecordJson(line.toString('utf8')))
  }

  addRecord(record: unknown): void {
    const { operation, outcome, principal, details } = record as Readonly<Record<string, unknown>>
    if (operation !== removalOperation || outcome !== 'success' || principal !== 'warder') return
    const { first_seq, last_seq, sha256, by } = (details ?? {}) as Readonly<Record<string, unknown>>
    this.#found.add(JSON.stringify([first_seq, last_seq, sha256, by]))
  }

  has({ checkpoint, removal }: SignedCheckpoint): boolean {
    const { first_seq, last_seq, sha256 } = checkpoint
    return this.#found.has(JSON.stringify([first_seq, last_seq, sha256, removal?.by]))
  }
}

/**
 * Whether the removal of a file is explained: the log's key has signed the removal with the name of the
 * operator, and the chain has its record if the removal claims one. An unsigned line explains nothing, since
 * any user who can delete the file can write it.
 * @param isRead the chain was read from the end of this file to its own end: the record cannot be in an
 *   unread part
 */
export function isRecordedRemoval(
  signed: SignedCheckpoint,
  {
    keys,
    recorded,
    isRead,
    isArchive,
  }: {
    readonly keys: readonly KeyObject[]
    readonly recorded: RecordedRemovals
    readonly isRead: boolean
    /** Files are moved into an archive, and never out of it. */
    readonly isArchive: boolean
  },
): boolean {
  const { removal } = signed
  if (removal === undefined || removal.by === unknownRemover) return false
  if (isArchive && removal.to !== undefined) return false
  if (!isRemovalSignedBy(keys, signed)) return recorded.has(signed)
  return removal.recorded !== true || !isRead || recorded.has(signed)
}
