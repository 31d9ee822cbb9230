import type { Database } from '@warder/foundation/sql'
import { type PendingBounds, removeCrowd } from './pending-store.ts'

/** Logins that may be under way; one is some 200 bytes, 2 KiB at most. */
export const pendingBounds: PendingBounds = { ofRealm: 50_000, inAll: 200_000 }

/** Keeps logins that nobody finishes from filling the database. */
export interface Crowd {
  /** One more login is under way. */
  added(): Promise<void> | void
}

/** @param every how many logins of this worker pass between two looks */
export function createCrowd(db: Database, bounds = pendingBounds, every = 500): Crowd {
  let since = 0
  return {
    added() {
      since += 1
      if (since < every) return
      since = 0
      return removeCrowd(db, bounds).then(() => undefined)
    },
  }
}
