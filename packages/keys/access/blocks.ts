import { andThen, type Clock, failure, type MaybePromise } from '@warder/base'
import type { Principal } from '@warder/server'
import { createRowCache, type Database } from '@warder/storage'
import { blockKey, blockTopic, blockVersion, readBlocks } from './block-store.ts'

/** Users whose requests are refused with any credential. */
export interface Blocks {
  /** The principal, unless it is blocked under one of its names. @throws failure('forbidden') */
  require(principal: Principal): MaybePromise<Principal>
  isBlocked(name: string): Promise<boolean>
}

/** Users that may be blocked at one time: all of them are in the memory of each worker. */
export const maxBlocks = 10_000

/** As up to date at each request as keys: on SQLite at once, on other nodes of PostgreSQL within the lease. */
export function createBlocks(parts: {
  readonly db: Database
  readonly clock: Clock
  readonly leaseMs: number
  /** The form in which names are compared, as rights are. */
  readonly normalize: (name: string) => string
}): Blocks {
  const { db, clock, leaseMs, normalize } = parts
  const lists = createRowCache<ReadonlySet<string>>({
    db,
    clock,
    leaseMs,
    topic: blockTopic,
    version: blockVersion,
    capacity: 1,
    async load() {
      const read = await readBlocks(db)
      return read && { ...read, value: new Set([...read.value].map(normalize)) }
    },
  })
  return {
    require: (principal) =>
      andThen(lists.get(blockKey), (blocked) => {
        // Fast path: usually no user is blocked.
        if (blocked === undefined || blocked.size === 0) return principal
        const { name, aliases = [] } = principal
        const found = [name, ...aliases].find((one) => blocked.has(normalize(one)))
        if (found === undefined) return principal
        throw failure('forbidden', 'This user is blocked.', { detail: `${found} is blocked` })
      }),
    isBlocked: async (name) => (await lists.get(blockKey))?.has(normalize(name)) === true,
  }
}
