import { del } from '@warder/foundation/operations'
import { type Database, retryOnGuard } from '@warder/foundation/sql'
import Type from 'typebox'
import { keyNotFound, keyRight, principalOf, requireAllowed, verdictOn } from '../../access/index.ts'
import { findObject, type ManagedObject, removalChanges } from '../../keys/index.ts'
import { define, type KmsServices } from '../../services.ts'

const attempts = 10
const access = keyRight<KmsServices, string>('destroy', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/**
 * `DELETE /v1/crypto/keys/{kid}`: the key, its other half and all that belongs to them are gone in one commit. It
 * takes both rights, `revoke` and `destroy`, on the named half, and both are checked before anything changes.
 */
export const deleteKey = define({
  name: 'crypto.keys.destroy',
  route: del('/v1/crypto/keys/{kid}'),
  summary: 'Revoke and remove a key, with the other half of a pair',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  status: 204,
  errors: {
    403: 'No right to destroy and revoke it.',
    404: 'No such key.',
    409: 'Changed by others at the same time.',
  },
  async act(_input, context) {
    const { db, roles } = context.services
    const { name } = principalOf(context)
    const { id } = access.resolved(context).key.object
    await retryOnGuard(attempts, async () => {
      const object = await findObject(db, id)
      if (object === undefined) throw keyNotFound()
      for (const right of ['destroy', 'revoke'] as const) {
        requireAllowed(await verdictOn(db, roles, object, name, right))
      }
      const linked = await otherHalf(db, object)
      if (linked !== undefined) context.audit({ details: { linked: linked.id } })
      await context.commit(removalChanges(db, linked === undefined ? [object] : [object, linked]))
    })
  },
})

/** The other half of a pair. A link that is not returned is one that somebody set to an object that is not theirs. */
async function otherHalf(db: Database, object: ManagedObject): Promise<ManagedObject | undefined> {
  if (object.linkedId === undefined) return undefined
  const linked = await findObject(db, object.linkedId)
  return linked?.linkedId === object.id && linked.owner === object.owner ? linked : undefined
}
