import { failure } from '@warder/foundation/errors'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import { createUnchangedRows, type Database, type UnchangedRows } from '@warder/foundation/sql'
import {
  type AccessServices,
  type Blocks,
  grantedToAnyOf,
  grantedToAnyWith,
  grantedToEither,
  keyNotFound,
  type Right,
} from '../access/index.ts'
import { asObjectId, type Key, type ObjectId } from '../keys/index.ts'
import { type ExternalStoreName, externalPrefix, externalPrincipal } from './names.ts'

/** Rights granted to principals of clouds, as long as nothing in the database changes. */
export type KnownGrants = UnchangedRows<ReadonlySet<string>>

interface Services extends Pick<AccessServices, 'db' | 'keys'> {
  readonly external: { readonly grants: KnownGrants }
  readonly blocks: Blocks
}

const mostGrants = 10_000

export function createKnownGrants(db: Database): KnownGrants {
  return createUnchangedRows(db, mostGrants)
}

/**
 * The key with this id, if `right` on it was granted to this principal of the store (`aws:arn:…`) or to all of them
 * (`aws:*`). Nothing else counts: neither ownership, nor roles, nor what was granted to everybody, so that a cloud uses
 * only the keys that were given to it (docs/adr/0052).
 * @param principal the vendor's own name of who asks
 * @throws failure('not_found') when there is none, or nothing on it was granted to anybody of the store;
 *   failure('forbidden') when something was: to others, or another right; and for a principal that is blocked
 */
export function grantedKey(
  services: Services,
  store: ExternalStoreName,
  principal: string,
  kid: string,
  right: Right,
): MaybePromise<Key> {
  const id = asObjectId(kid)
  if (id === undefined) throw keyNotFound()
  const admitted = services.blocks.require({ name: externalPrincipal(store, principal), method: store })
  return andThen(admitted, () =>
    andThen(services.keys.get(id), (key) => {
      if (key === undefined) throw keyNotFound()
      return andThen(granted(services, store, principal, id), (rights) =>
        rights?.has(right) === true ? key : refuse(services, store, id),
      )
    }),
  )
}

/**
 * Whether `right` on a key was granted to any of these principals of a store, or to all of the store: for callers who
 * bring many names, such as the groups of a token.
 */
export function grantedToAny(
  { db }: Pick<Services, 'db'>,
  store: ExternalStoreName,
  principals: readonly string[],
  id: ObjectId,
  right: Right,
): Promise<boolean> {
  const names = [...principals, '*'].map((principal) => externalPrincipal(store, principal))
  return grantedToAnyOf(db, id, right, names)
}

function granted(
  { db, external }: Services,
  store: ExternalStoreName,
  principal: string,
  id: ObjectId,
): MaybePromise<ReadonlySet<string> | undefined> {
  const one = externalPrincipal(store, principal)
  // No id has a control character: the line end stands between the two.
  return external.grants.get(`${id}\n${one}`, () =>
    grantedToEither(db, id, one, externalPrincipal(store, '*')),
  )
}

function refuse({ db }: Services, store: ExternalStoreName, id: ObjectId): MaybePromise<Key> {
  return andThen(grantedToAnyWith(db, id, externalPrefix(store)), (given): never => {
    if (given) throw failure('forbidden', 'This use of the key was not granted to this principal.')
    throw keyNotFound()
  })
}
