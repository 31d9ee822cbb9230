import type { Database } from '@warder/foundation/sql'
import { type PendingBounds, removeExcessPending } from './pending-store.ts'

/** Logins that may be under way; one is some 200 bytes, 2 KiB at most. */
export const pendingBounds: PendingBounds = { ofRealm: 50_000, inAll: 200_000 }

/** Keeps logins that nobody finishes from filling the database. */
export interface PendingLimiter {
  /** One more login is under way. */
  count(): Promise<void> | void
}

/** @param every how many logins of this worker pass between two looks */
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
