import { failure } from '@warder/foundation/errors'
import type { Principal } from '@warder/foundation/operations'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import type { Clock } from '@warder/foundation/runtime'
import { createRowCache, type Database } from '@warder/foundation/sql'
import { blockKey, blockTopic, blockVersion, readBlocks } from './block-store.ts'

/** Users whose requests are refused, whatever credential they bring. */
export interface Blocks {
  /** The principal, unless it is blocked. @throws failure('forbidden') */
  require(principal: Principal): MaybePromise<Principal>
}

/** Users that may be blocked at one time: all of them are in the memory of each worker. */
export const mostBlocks = 10_000

/** As new at each request as keys are: on SQLite at once, on other nodes of PostgreSQL within the lease. */
export function createBlocks(parts: {
  readonly db: Database
  readonly clock: Clock
  readonly leaseMs: number
}): Blocks {
  const { db, clock, leaseMs } = parts
  const lists = createRowCache<ReadonlySet<string>>({
    db,
    clock,
    leaseMs,
    topic: blockTopic,
    version: blockVersion,
    capacity: 1,
    load: () => readBlocks(db),
  })
  return {
    require: (principal) =>
      andThen(lists.get(blockKey), (blocked) => {
        if (blocked?.has(principal.name) !== true) return principal
        throw failure('forbidden', 'This user is blocked.', { detail: `${principal.name} is blocked` })
      }),
  }
}
