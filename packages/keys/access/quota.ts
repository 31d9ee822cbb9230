import { BoundedMap, type Clock } from '@warder/base'
import type { Database } from '@warder/storage'
import { countOwned } from './ownership-store.ts'

/** Max objects per owner, so that no single user can fill the database. */
export interface OwnerQuota {
  /** Counts one creation. false: the owner has as many as they may. */
  hasRoom(owner: string): Promise<boolean>
}

/** Max objects of one creation: a pair. */
const objectsOfCreation = 2
/** Pending creations are not in the database yet: they count for this time, whether they succeed or fail. */
const underWayMs = 2000
const fullMs = 500
const maxOwners = 10_000

interface Entry {
  /** Creations that need no new count. */
  left: number
  /** The objects are not counted again before this time. */
  fullUntil: number
  recent: number
  before: number
  since: number
}

/**
 * Exact near the limit, cheap far from it: each count allows a sixteenth of the room that it found. Workers and nodes
 * count for themselves, so those that create at the same moment can pass the limit by a few.
 */
export function ownerQuota(db: Database, clock: Clock, limit: number): OwnerQuota {
  const entries = new BoundedMap<string, Entry>(maxOwners)

  const getEntry = (owner: string): Entry => {
    const known = entries.get(owner)
    if (known !== undefined) return known
    const fresh = { left: 0, fullUntil: 0, recent: 0, before: 0, since: clock.monotonic() }
    entries.set(owner, fresh)
    return fresh
  }

  const take = (entry: Entry): boolean => {
    entry.left -= 1
    entry.recent += 1
    return true
  }

  return {
    async hasRoom(owner) {
      const entry = getEntry(owner)
      const now = clock.monotonic()
      if (now - entry.since >= underWayMs) {
        entry.before = now - entry.since >= 2 * underWayMs ? 0 : entry.recent
        entry.recent = 0
        entry.since = now
        entry.left = 0
      }
      if (entry.left > 0) return take(entry)
      if (now < entry.fullUntil) return false
      const owned = await countOwned(db, owner, limit)
      const room = limit - owned - (entry.recent + entry.before) * objectsOfCreation
      if (room < 1) {
        entry.fullUntil = now + fullMs
        return false
      }
      entry.left = Math.max(1, Math.floor(room / 16 / objectsOfCreation))
      return take(entry)
    },
  }
}
