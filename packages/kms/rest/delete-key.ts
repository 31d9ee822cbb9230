import { failure } from '@warder/base'
import {
  findObject,
  isLaterVersion,
  keyNotFound,
  keyRemovalChanges,
  keyRight,
  listUserKeys,
  type ManagedObject,
  type ObjectId,
  requireAllowed,
  requireNoApproval,
  requireNotWrapping,
  requirePrincipal,
  runningTime,
  verdictOn,
  waiting,
  wholeKey,
  withholdingChanges,
  withVersions,
} from '@warder/keys'
import { type Caller, del, rawReply } from '@warder/server'
import { type Change, retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { define, type RestServices } from './services.ts'

const attempts = 10
const access = keyRight<RestServices, string>('destroy', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/**
 * `DELETE /v1/crypto/keys/{kid}`: removes the key, its other half, user keys of a master key and all that belongs to
 * them in one commit, or after the waiting period of the settings. It requires both rights, `revoke` and `destroy`, on
 * the named half; both are checked before anything changes.
 */
export const deleteKey = define({
  name: 'crypto.keys.destroy',
  reach: ['change state', 'end object'],
  asks: ['revoke'],
  route: del('/v1/crypto/keys/{kid}'),
  summary: 'Revoke and remove a key, with the other half of a pair',
  description:
    'With `pending_destruction_days` the destruction is pending: the key is disabled at once, can be restored, and is removed on the returned date.',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  status: 204,
  otherReplies: {
    202: {
      description: 'Its destruction is pending.',
      reply: Type.Object({
        kid: Type.String(),
        destruction_at: Type.String({ description: 'RFC 3339, UTC.' }),
      }),
    },
  },
  errors: {
    403: 'The caller has no right to destroy and revoke it.',
    404: 'No such key.',
    409: 'Changed concurrently by another request.',
    422: 'It is the newest version of a key.',
  },
  async act(_input, context) {
    const { roles } = context.services
    const caller = requirePrincipal(context)
    const { id } = access.resolved(context).key.object
    const at = await retryOnGuard(attempts, async () => {
      const { objects, users, changes, destructionAt } = await destructionWaitDays(
        context.services,
        id,
        caller,
      )
      const [, linked] = objects
      if (linked !== undefined) context.audit({ details: { linked: linked.id } })
      if (users.length > 0) context.audit({ details: { user_keys: users.length } })
      await requireNoApproval(roles, 'destroy', [...objects, ...users])
      if (destructionAt !== undefined)
        context.audit({ details: { destruction_at: new Date(destructionAt).toISOString() } })
      if (changes.length > 0) await context.commit(changes)
      return destructionAt
    })
    if (at === undefined) return undefined
    return rawReply({ status: 202, json: { kid: id, destruction_at: new Date(at).toISOString() } })
  },
})

/**
 * Changes that destroy a key and its other half, or schedule their destruction, for a caller who has both rights now. A
 * pending destruction keeps its date.
 * @returns the key, then the other half; user keys, which are destroyed with the attribute-based master key that issued
 *   them; the date, if the destruction is pending
 * @throws failure('not_found' | 'forbidden')
 */
export async function destructionWaitDays(
  { db, roles, clock }: Pick<RestServices, 'db' | 'roles' | 'clock'>,
  id: ObjectId,
  caller: Caller,
): Promise<{
  readonly objects: readonly ManagedObject[]
  readonly users: readonly ManagedObject[]
  readonly changes: readonly Change[]
  readonly destructionAt: number | undefined
}> {
  const object = await findObject(db, id)
  if (object === undefined) throw keyNotFound()
  for (const right of ['destroy', 'revoke'] as const) {
    requireAllowed(await verdictOn(db, roles, object, caller, right))
  }
  const objects = await wholeKey(db, object)
  const master = objects.find(({ form }) => form.abe?.kind === 'master')
  const users = master === undefined ? [] : await listUserKeys(db, master.id)
  const all = [...objects, ...users]
  requireNotNewest(object)
  if (object.destructionAt !== undefined && (await waitsWhole(db, object)))
    return { objects, users, changes: [], destructionAt: object.destructionAt }
  await requireNotWrapping(
    db,
    (await withVersions(db, all)).map((before) => ({ before, after: undefined })),
  )
  const now = clock.now()
  const days = Math.max(...(await Promise.all(all.map((one) => daysLeft(roles, one)))))
  // Another part may wait already for a destruction of its own: nothing of the key goes before that.
  const pending = all.find(({ destructionAt }) => destructionAt !== undefined)
  if (days === 0 && pending === undefined)
    return { objects, users, changes: await keyRemovalChanges(db, all, now), destructionAt: undefined }
  const fresh = waiting({ days, by: caller.name, manner: 'remove', now, ranMs: await runningTime(db) })
  const wanted =
    pending?.destruction !== undefined && (pending.destructionAt ?? 0) > (fresh.destructionAt ?? 0)
      ? {
          destructionAt: pending.destructionAt,
          destruction: { ...pending.destruction, by: caller.name, manner: 'remove' as const },
        }
      : fresh
  const changes = (await withVersions(db, all))
    .filter((one) => one.destructionAt === undefined || isKeyWithVersions(one))
    .flatMap((one) => withholdingChanges(db, one, wanted, now))
  return { objects, users, changes, destructionAt: wanted.destructionAt }
}

/** Whether the object is generation 0 of a rotated key, whose row represents the key. */
function isKeyWithVersions({ id, chainId }: ManagedObject): boolean {
  return chainId === id
}

/**
 * Whether the whole named key awaits destruction, not only its first version: KMIP Destroy names single versions.
 */
async function waitsWhole(db: RestServices['db'], object: ManagedObject): Promise<boolean> {
  if (!isKeyWithVersions(object) || object.newestId === undefined) return true
  const newest = await findObject(db, object.newestId)
  return newest?.destruction?.askedAt === object.destruction?.askedAt
}

/** @throws failure('crypto_failure') for the newest version of a key, which is the only one that protects */
function requireNotNewest(object: ManagedObject): void {
  if (!isLaterVersion(object) || object.supersededAt !== undefined) return
  throw failure('crypto_failure', `This is the newest version of ${object.chainId}: rotate that key first.`)
}

/** Objects that KMIP destroyed do not wait again; for a key with versions the other versions do. */
async function daysLeft({ destructions }: RestServices['roles'], object: ManagedObject): Promise<number> {
  return object.destroyedAt === undefined || isKeyWithVersions(object) ? destructions.daysOf(object) : 0
}
