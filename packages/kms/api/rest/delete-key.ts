import { del } from '@warder/foundation/operations'
import { type Change, type Database, retryOnGuard } from '@warder/foundation/sql'
import Type from 'typebox'
import { userKeysOf } from '../../abe/index.ts'
import {
  approvalNeeded,
  keyNotFound,
  keyRight,
  principalOf,
  requireAllowed,
  verdictOn,
} from '../../access/index.ts'
import { findObject, type ManagedObject, type ObjectId, removalChanges } from '../../keys/index.ts'
import { define, type KmsServices } from '../../services.ts'

const attempts = 10
const access = keyRight<KmsServices, string>('destroy', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/**
 * `DELETE /v1/crypto/keys/{kid}`: the key, its other half, user keys of a master key and all that belongs to them are gone
 * in one commit. It takes both rights, `revoke` and `destroy`, on the named half, and both are checked before anything changes.
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
    const { roles } = context.services
    const { name } = principalOf(context)
    const { id } = access.resolved(context).key.object
    await retryOnGuard(attempts, async () => {
      const { objects, users, changes } = await destructionOf(context.services, id, name)
      const [, linked] = objects
      if (linked !== undefined) context.audit({ details: { linked: linked.id } })
      if (users.length > 0) context.audit({ details: { user_keys: users.length } })
      for (const object of [...objects, ...users])
        if (await roles.approvals.covers('destroy', object)) throw approvalNeeded('destroy', roles.officers)
      await context.commit(changes)
    })
  },
})

/**
 * What takes a key and its other half away, for somebody who has both rights on it now.
 * @returns the key, then the other half; user keys, which go with the attribute-based master key that made them
 * @throws failure('not_found' | 'forbidden')
 */
export async function destructionOf(
  { db, roles }: Pick<KmsServices, 'db' | 'roles'>,
  id: ObjectId,
  name: string,
): Promise<{
  readonly objects: readonly ManagedObject[]
  readonly users: readonly ManagedObject[]
  readonly changes: readonly Change[]
}> {
  const object = await findObject(db, id)
  if (object === undefined) throw keyNotFound()
  for (const right of ['destroy', 'revoke'] as const) {
    requireAllowed(await verdictOn(db, roles, object, name, right))
  }
  const linked = await otherHalf(db, object)
  const objects = linked === undefined ? [object] : [object, linked]
  const master = objects.find(({ form }) => form.abe?.kind === 'master')
  const users = master === undefined ? [] : await userKeysOf(db, master.id)
  return { objects, users, changes: removalChanges(db, [...objects, ...users]) }
}

/** The other half of a pair. A link that is not returned is one that somebody set to an object that is not theirs. */
async function otherHalf(db: Database, object: ManagedObject): Promise<ManagedObject | undefined> {
  if (object.linkedId === undefined) return undefined
  const linked = await findObject(db, object.linkedId)
  return linked?.linkedId === object.id && linked.owner === object.owner ? linked : undefined
}
