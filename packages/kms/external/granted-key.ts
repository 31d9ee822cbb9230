import { andThen, type MaybePromise } from '@warder/foundation/promises'
import {
  type AccessServices,
  grantedToEither,
  keyNotFound,
  type Right,
  requireAllowed,
} from '../access/index.ts'
import { asObjectId, type Key } from '../keys/index.ts'
import { type ExternalStoreName, externalPrincipal } from './names.ts'

/**
 * The key with this id, if `right` on it was granted to this principal of the store (`aws:arn:…`) or to all of them
 * (`aws:*`). Nothing else counts: neither ownership, nor roles, nor what was granted to everybody, so that a cloud uses
 * only the keys that were given to it (docs/adr/0052).
 * @param principal the vendor's own name of who asks
 * @throws failure('not_found') when there is none, or nothing on it was granted; failure('forbidden') when something
 *   else was
 */
export function grantedKey(
  services: Pick<AccessServices, 'db' | 'keys'>,
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
    return andThen(grantedToEither(services.db, key.object.id, ...names), (granted) => {
      if (granted === undefined) throw keyNotFound()
      requireAllowed(granted.has(right) ? 'allowed' : 'lacks_this_right')
      return key
    })
  })
}
