import type { Database } from '@warder/storage'
import { type PendingBounds, removeExcessPending } from './pending-store.ts'

/** Maximum number of pending logins; one takes about 200 bytes, at most 2 KiB. */
export const pendingBounds: PendingBounds = { ofRealm: 50_000, inAll: 200_000 }

/** Keeps unfinished logins from filling the database. */
export interface PendingLimiter {
  /** Counts one more pending login. */
  count(): Promise<void> | void
}

/** @param every number of logins of this worker between two checks */
export function createPendingLimiter(db: Database, bounds = pendingBounds, every = 500): PendingLimiter {
  let since = 0
  return {
    count() {
      since += 1
      if (since < every) return
      since = 0
      return removeExcessPending(db, bounds).then(() => undefined)
    },
  }
}
