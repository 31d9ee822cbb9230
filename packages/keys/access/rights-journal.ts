import { createHash } from 'node:crypto'
import { type AuditTrail, createOwnEvent } from '@warder/audit'
import { type Clock, escapeHidden } from '@warder/base'
import { type Database, GuardFailed } from '@warder/storage'
import {
  advanceRightsJournal,
  type RightChange,
  type RightsJournal,
  readRightsJournal,
} from './rights-journal-store.ts'

/** The operation of records with changes of rights. */
export const rightsOperation = 'access.rights_changed'

/** Changes of rights in one record, and the link to the record before. */
export interface RightsRecord {
  /** Digest of the record before; empty: there is none. */
  readonly prev: string
  /** The latest time of all changes before, Unix milliseconds. */
  readonly prev_at: number
  readonly changes: readonly RightChange[]
}

/**
 * SHA-256, in lower-case hexadecimal digits. The database contains the digest of the last record, so a missing or
 * changed record is detected.
 */
export function digestRights({ prev, prev_at, changes }: RightsRecord): string {
  return createHash('sha256')
    .update(JSON.stringify([prev, prev_at, changes]))
    .digest('hex')
}

/** Details of a record have at most 16 KiB. */
const maxRecordCharacters = 15_000

/** Splits changes so that no record is cut. */
function splitChanges(changes: readonly RightChange[]): readonly (readonly RightChange[])[] {
  const parts: RightChange[][] = []
  let room = 0
  for (const one of changes) {
    const length = escapeHidden(JSON.stringify(one)).length + 1
    if (length > room || parts.length === 0) {
      parts.push([])
      room = maxRecordCharacters
    }
    parts.at(-1)?.push(one)
    room -= length
  }
  return parts
}

const changesAtOnce = 2000
/** Maximum number of records of a run; the next run continues. */
const maxRounds = 500

/** Writes the changes of rights that wait to the audit log. They stay in the database until they are on disk. */
export async function recordRights({
  db,
  audit,
  clock,
}: {
  readonly db: Database
  readonly audit: AuditTrail
  readonly clock: Clock
}): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    const journal = await readRightsJournal(db, changesAtOnce)
    if (journal.pending.length === 0) return
    let end: Pick<RightsJournal, 'digest' | 'lastAt'> = journal
    for (const changes of splitChanges(journal.pending)) {
      const details: RightsRecord = { prev: end.digest, prev_at: end.lastAt, changes }
      await audit.recordDurably({ ...createOwnEvent(clock.now(), rightsOperation), details: { ...details } })
      const lastAt = changes.reduce((latest, [at]) => Math.max(latest, at), end.lastAt)
      end = { digest: digestRights(details), lastAt }
    }
    try {
      await db.commit(advanceRightsJournal(journal, end))
    } catch (error) {
      // Another node wrote the changes, or new changes came between them. The records stay in the log, but are not part
      // of the chain.
      if (!(error instanceof GuardFailed)) throw error
    }
  }
}
