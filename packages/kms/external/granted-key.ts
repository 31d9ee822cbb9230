import { failure } from '@warder/foundation/errors'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import {
  type AccessServices,
  grantedToAnyWith,
  grantedToEither,
  keyNotFound,
  type Right,
} from '../access/index.ts'
import { asObjectId, type Key, type ObjectId } from '../keys/index.ts'
import { type ExternalStoreName, externalPrefix, externalPrincipal } from './names.ts'

type Services = Pick<AccessServices, 'db' | 'keys'>

/**
 * The key with this id, if `right` on it was granted to this principal of the store (`aws:arn:…`) or to all of them
 * (`aws:*`). Nothing else counts: neither ownership, nor roles, nor what was granted to everybody, so that a cloud uses
 * only the keys that were given to it (docs/adr/0052).
 * @param principal the vendor's own name of who asks
 * @throws failure('not_found') when there is none, or nothing on it was granted to anybody of the store;
 *   failure('forbidden') when something was: to others, or another right
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
  return andThen(services.keys.get(id), (key) => {
    if (key === undefined) throw keyNotFound()
    const names = [externalPrincipal(store, principal), externalPrincipal(store, '*')] as const
    return andThen(grantedToEither(services.db, id, ...names), (granted) =>
      granted?.has(right) === true ? key : refuse(services, store, id),
    )
  })
}

function refuse({ db }: Services, store: ExternalStoreName, id: ObjectId): MaybePromise<Key> {
  return andThen(grantedToAnyWith(db, id, externalPrefix(store)), (given): never => {
    if (given) throw failure('forbidden', 'This use of the key was not granted to this principal.')
    throw keyNotFound()
  })
}
