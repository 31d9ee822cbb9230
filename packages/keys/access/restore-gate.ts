import { type Clock, type Failure, failure } from '@warder/base'
import { createRowCache, type Database, type Seal } from '@warder/storage'
import { findHold, holdKey, holdTopic, holdVersion, type RestoreHold } from './restore-store.ts'

/** Whether a restored installation is still held: checked on each request if it was held at the start. */
export interface RestoreGate {
  /** Why requests are still refused; undefined = released. A release is seen at once on SQLite and by `changed`. */
  problem(): Promise<Failure | undefined>
}

/**
 * Deleting the record does not release a running process: it has to be restarted.
 * @param hold as the start found it, `held`
 */
export function createRestoreGate(
  parts: { readonly db: Database; readonly seal: Seal; readonly clock: Clock; readonly leaseMs: number },
  hold: RestoreHold,
): RestoreGate {
  const { db, seal, clock, leaseMs } = parts
  const holds = createRowCache<RestoreHold['state']>({
    db,
    clock,
    leaseMs,
    topic: holdTopic,
    version: holdVersion,
    capacity: 1,
    async load() {
      const found = await findHold(db, seal)
      return found && { version: found.version, value: found.value.state }
    },
  })
  let isReleased = false
  return {
    async problem() {
      if (isReleased) return undefined
      const state = await holds.get(holdKey)
      isReleased ||= state === 'released'
      return isReleased ? undefined : restoreHeld(hold)
    },
  }
}

function restoreHeld({ madeAt }: RestoreHold): Failure {
  return failure(
    'forbidden',
    `This installation was restored from a backup of ${new Date(madeAt).toISOString()} and serves no requests until its ` +
      'crypto officers approve the restore: warder officers requests, or GET /access/approvals.',
    { members: { approval: 'restore_backup' } },
  )
}
