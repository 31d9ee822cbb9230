import { failure } from '@warder/base'
import {
  findObject,
  keyNotFound,
  keyRight,
  listUserKeys,
  type ManagedObject,
  type ObjectId,
  type Right,
  requireAllowed,
  requireNotWrapping,
  requirePrincipal,
  restored,
  stateAt,
  verdictOn,
  type Withholding,
  wholeKey,
  withholdingChanges,
  withVersions,
} from '@warder/keys'
import { type Operation, type OperationContext, post } from '@warder/server'
import { type Database, retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { formatLifecycle, LifeReply } from './life-shape.ts'
import { define, type RestServices } from './services.ts'

const attempts = 10
const KidPath = Type.Object({ kid: Type.String() })

interface Change {
  /** Parts of the key that change together with the named one. */
  readonly parts: readonly ManagedObject[]
  readonly changed: Partial<Withholding>
}

/**
 * Disables or enables a key, or changes its pending destruction, for all its parts in one commit. Each attempt checks
 * the right on the named part again.
 * @param decide returns the changes; undefined: the key is in that condition already
 */
async function changeWithholding(
  context: OperationContext<RestServices>,
  id: ObjectId,
  right: Right,
  decide: (object: ManagedObject, now: number) => Promise<Change | undefined>,
): Promise<Static<typeof LifeReply>> {
  const { db, roles, clock } = context.services
  const caller = requirePrincipal(context)
  return retryOnGuard(attempts, async () => {
    const now = clock.now()
    const object = await findObject(db, id)
    if (object === undefined) throw keyNotFound()
    requireAllowed(await verdictOn(db, roles, object, caller, right))
    const wanted = await decide(object, now)
    if (wanted === undefined) return formatKeyLife(db, object, now)
    const { parts, changed } = wanted
    if (object.linkedId !== undefined) context.audit({ details: { linked: object.linkedId } })
    await requireNotWrapping(
      db,
      parts.map((before) => ({ before, after: { ...before, ...changed } })),
    )
    await context.commit(parts.flatMap((part) => withholdingChanges(db, part, changed, now)))
    return formatKeyLife(db, object, now)
  })
}

/** For a rotated key: the state of its newest version, which protects. */
async function formatKeyLife(
  db: Database,
  { id, newestId = id }: ManagedObject,
  now: number,
): Promise<Static<typeof LifeReply>> {
  const shown = await findObject(db, newestId)
  if (shown === undefined) throw keyNotFound()
  return { ...formatLifecycle(shown, now), kid: id }
}

/** @throws failure('crypto_failure') for destroyed objects */
export function requireThere(object: ManagedObject, now: number): void {
  if (object.destroyedAt !== undefined)
    throw failure('crypto_failure', `The key is ${stateAt(object, now)}: it cannot be restored.`)
}

/** One verb that disables or enables a key, or changes its pending destruction. */
interface LifeVerb {
  readonly verb: 'disable' | 'enable' | 'restore'
  readonly summary: string
  readonly description: string
  readonly right: 'revoke' | 'activate'
  readonly errors: { readonly 404: string; readonly 422: string }
  /** See `changeWithholding`; not called for destroyed objects. */
  decide(object: ManagedObject, now: number, db: Database): Promise<Change | undefined>
  /** Called when it is done. */
  tell?(context: OperationContext<RestServices>, key: ObjectId): Promise<void>
}

function lifeOperation({ verb, summary, description, right, errors, decide, tell }: LifeVerb) {
  const access = keyRight<RestServices, string>(right, {
    read: ({ path: { kid } }) => kid ?? '',
    kid: (kid) => kid,
  })
  return define({
    name: `crypto.keys.${verb}`,
    route: post(`/v1/crypto/keys/{kid}/${verb}`),
    summary,
    description,
    tag: 'Keys',
    access,
    reach: ['change state'],
    pathParameters: KidPath,
    reply: LifeReply,
    errors: {
      403: `The caller has no right to ${right} it.`,
      ...errors,
      409: 'Changed concurrently by another request.',
    },
    async act(_input, context) {
      const { db } = context.services
      const { id } = access.resolved(context).key.object
      const reply = await changeWithholding(context, id, right, async (object, now) => {
        // The first version of a key may be destroyed while others are not.
        if (object.newestId === undefined) requireThere(object, now)
        return decide(object, now, db)
      })
      await tell?.(context, id)
      return reply
    },
  })
}

const disable = lifeOperation({
  verb: 'disable',
  summary: 'Disable a key, with the other half of a pair, until it is enabled',
  description:
    'From the next request on, no protocol can use or export it. Its state and its dates are unchanged.',
  right: 'revoke',
  errors: { 404: 'No such key.', 422: 'The key is destroyed.' },
  async decide(object, now, db) {
    const rows = await withVersions(db, await wholeKey(db, object))
    const parts = rows.filter(({ disabledAt }) => disabledAt === undefined)
    return parts.length === 0 ? undefined : { parts, changed: { disabledAt: now } }
  },
})

const enable = lifeOperation({
  verb: 'enable',
  summary: 'Enable a disabled key, with the other half of a pair',
  description: 'Its state and its dates determine its permitted uses.',
  right: 'activate',
  errors: { 404: 'No such key.', 422: 'The key is destroyed.' },
  async decide(object, _now, db) {
    const rows = await withVersions(db, await wholeKey(db, object))
    // A version that was disabled individually stays disabled: the newest one records since when the key is disabled.
    const newest = rows.find(({ id }) => id === object.newestId) ?? object
    const since = newest.disabledAt
    const isRotated = object.newestId !== undefined
    const parts = rows.filter(
      ({ disabledAt }) =>
        disabledAt !== undefined && (disabledAt === since || (since === undefined && !isRotated)),
    )
    return parts.length === 0 ? undefined : { parts, changed: { disabledAt: undefined } }
  },
})

const restore = lifeOperation({
  verb: 'restore',
  summary: 'Cancel a pending destruction, with that of the other half of a pair',
  description: 'The key has its previous state; a disabled key stays disabled.',
  right: 'activate',
  errors: {
    404: 'There is no such key, or it is already destroyed.',
    422: 'Its destruction is not pending.',
  },
  async decide(object, _now, db) {
    if (object.destructionAt === undefined)
      throw failure('crypto_failure', 'The destruction of this key is not pending.')
    const key = await wholeKey(db, object)
    const master = key.find(({ form }) => form.abe?.kind === 'master')
    // The user keys that wait with their master key, not those that are destroyed individually.
    const users = master === undefined ? [] : await listUserKeys(db, master.id)
    const along = users.filter(({ destruction }) => destruction?.askedAt === object.destruction?.askedAt)
    const rows = [...(await withVersions(db, key)), ...along]
    const parts = rows.filter(({ destruction }) => destruction?.askedAt === object.destruction?.askedAt)
    return { parts, changed: restored }
  },
  async tell(context, key) {
    await context.services.notices?.tell('destruction.taken_back', {
      key,
      by: requirePrincipal(context).name,
    })
  },
})

export const lifeOperations: readonly Operation<RestServices>[] = [disable, enable, restore]
