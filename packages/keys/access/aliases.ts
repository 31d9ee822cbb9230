import { andThen, type Clock, type MaybePromise } from '@warder/base'
import {
  type Change,
  type Commit,
  createRowCache,
  type Database,
  GuardFailed,
  UniqueViolation,
} from '@warder/storage'
import { aliasPrefix, asObjectId, type ObjectId } from '../objects/object-id.ts'
import { parseAlias } from './alias-name.ts'
import {
  aliasId,
  aliasRemoval,
  aliasTopic,
  aliasTransfer,
  aliasVersion,
  findAlias,
  listAliases,
} from './alias-store.ts'

/** Resolves aliases; as up to date at each use as keys. */
export interface Aliases {
  /** The current target of an alias; synchronous for a cached one on SQLite. `id` as returned by `aliasId`. */
  keyOf(id: string): MaybePromise<ObjectId | undefined>
}

/** Aliases that one owner can have. */
export const maxAliases = 1000

const maxCached = 10_000

/** On SQLite a move is seen at once, on other nodes of PostgreSQL within the lease. */
export function createAliases(parts: {
  readonly db: Database
  readonly clock: Clock
  readonly leaseMs: number
}): Aliases {
  const { db, clock, leaseMs } = parts
  const cache = createRowCache<ObjectId>({
    db,
    clock,
    leaseMs,
    topic: aliasTopic,
    version: aliasVersion,
    capacity: maxCached,
    async load(id) {
      const alias = await findAlias(db, id)
      return alias === undefined ? undefined : { version: alias.version, value: alias.keyId }
    },
  })
  return { keyOf: (id) => cache.get(id) }
}

/**
 * Resolves the identifier in a request: the current target of an alias, or the identifier itself. Every front end calls
 * this exactly once for each key that a request names, so that a request works with either the old or the new key of an
 * alias. undefined: no object has the identifier.
 *
 * Objects that were named `alias/…` before aliases existed are found if no alias has that name.
 */
export function resolveKid(
  { aliases }: { readonly aliases: Aliases },
  caller: string,
  text: string,
): MaybePromise<ObjectId | undefined> {
  if (!text.startsWith(aliasPrefix)) return asObjectId(text)
  const alias = parseAlias(text, caller)
  if (alias === undefined) return asObjectId(text)
  return andThen(aliases.keyOf(aliasId(alias)), (id) => id ?? asObjectId(text))
}

interface Parts {
  readonly db: Database
  readonly commit: Commit
  /** Unix milliseconds. */
  readonly now: () => number
}

const batch = 100
const attempts = 20

/**
 * Transfers the aliases of one owner to another, in commits of bounded size. If the new owner has an alias of the same
 * name, that one stays and the transferred one is deleted: an alias of a user must not silently refer to another key.
 */
export async function transferAliases({ db, commit, now }: Parts, from: string, to: string): Promise<void> {
  for (let lost = 0; ; ) {
    const some = await listAliases(db, from, '', batch)
    if (some.length === 0) return
    try {
      const changes: Change[] = []
      for (const alias of some) {
        const taken = await findAlias(db, aliasId({ ...alias, owner: to }))
        changes.push(...(taken === undefined ? aliasTransfer(db, alias, to, now()) : aliasRemoval(db, alias)))
      }
      await commit(changes)
      lost = 0
    } catch (error) {
      const faster = error instanceof GuardFailed || error instanceof UniqueViolation
      if (!faster || ++lost >= attempts) throw error
    }
  }
}
