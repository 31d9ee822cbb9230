import {
  findLinkTarget,
  type LifeCycle,
  listUserKeys,
  type ManagedObject,
  type NewObject,
  stateAt,
  transition,
  userKeysWithout,
  type Withholding,
} from '@warder/keys'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'

/**
 * An imported user key belongs to the master key in its ParentLink if both have the same owner: it is refreshed,
 * revoked and destroyed with the master key, like user keys created here. A link has no effect on another user's copy
 * of a key.
 */
export async function withMaster(context: KmipContext, created: NewObject): Promise<NewObject> {
  const { abe } = created.object.form
  const parent = abe?.kind === 'user' ? findLinkTarget(created.object, 'ParentLink') : undefined
  if (abe === undefined || parent === undefined) return created
  const master = await context.objects.read(parent)
  if (master?.form.abe?.kind !== 'master' || master.owner !== created.object.owner) return created
  const form = { ...created.object.form, abe: { ...abe, master: master.id } }
  return { ...created, object: { ...created.object, form } }
}

/** The same in the other order: a master key that is imported after its user keys. */
export async function adoptUserKeys(context: KmipContext, master: ManagedObject): Promise<void> {
  if (master.form.abe?.kind !== 'master') return
  for (const { id } of await userKeysWithout(context.services.db, master)) {
    const user = await context.objects.read(id)
    const abe = user?.form.abe
    if (user !== undefined && abe !== undefined)
      context.objects.update(user, { form: { ...user.form, abe: { ...abe, master: master.id } } })
  }
}

/**
 * Attribute ids continue after a master key is replaced, so that no id is assigned twice.
 * @throws kmipFailure InvalidField
 */
export function withFormerIds(created: NewObject, before: ManagedObject): NewObject {
  const former = before.form.abe
  if (former?.kind !== 'master') return created
  const { abe } = created.object.form
  if (abe?.kind !== 'master')
    throw kmipFailure('InvalidField', 'The existing object is an attribute-based master key.')
  const nextAttributeId = Math.max(abe.nextAttributeId ?? 0, former.nextAttributeId ?? 0)
  const form = {
    ...created.object.form,
    abe: {
      ...abe,
      nextAttributeId,
      ...(former.formerNames !== undefined && { formerNames: former.formerNames }),
    },
  }
  return { ...created, object: { ...created.object, form } }
}

type Ending = Pick<ManagedObject, 'revocationReason' | 'revocationMessage'> & {
  readonly compromise: boolean
}

/** Revoking a master key also revokes its user keys, including those of other owners, in the same commit. */
export async function revokeUserKeys(
  context: KmipContext,
  master: ManagedObject,
  ending: Ending,
): Promise<void> {
  const { compromise, ...reason } = ending
  await forEachUserKey(context, master, (user) => {
    const cycle = endLife({ ...user, state: stateAt(user, context.now) }, compromise, context.now)
    if (cycle === undefined) return false
    const { state, activationAt, deactivationAt, compromisedAt } = cycle
    context.objects.update(user, { state, activationAt, deactivationAt, compromisedAt, ...reason })
    return true
  })
}

/** undefined: the key is already deactivated, compromised or destroyed. */
function endLife(user: ManagedObject, compromise: boolean, now: number): LifeCycle | undefined {
  switch (user.state) {
    case 'PreActive':
      // Two life cycle transitions at the same time.
      if (!compromise) return transition(transition(user, 'activate', now), 'deactivate', now)
      return transition(user, 'compromise', now)
    case 'Active':
      return transition(user, compromise ? 'compromise' : 'deactivate', now)
    case 'Deactivated':
      return compromise ? transition(user, 'compromise', now) : undefined
    default:
      return undefined
  }
}

/** Destroying a master key also destroys the material of its user keys. */
export async function destroyUserKeys(context: KmipContext, master: ManagedObject): Promise<void> {
  await forEachUserKey(context, master, (user) => {
    const state = stateAt(user, context.now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised') return false
    const compromised = state === 'Compromised'
    context.objects.update(
      user,
      { state: compromised ? 'Destroyed_Compromised' : 'Destroyed', destroyedAt: context.now },
      null,
    )
    return true
  })
}

/** User keys are scheduled for destruction with their master key; those already scheduled keep their date. */
export async function withholdUserKeys(
  context: KmipContext,
  master: ManagedObject,
  wanted: Partial<Withholding>,
): Promise<void> {
  await forEachUserKey(context, master, (user) => {
    if (user.destroyedAt !== undefined || user.destructionAt !== undefined) return false
    context.objects.update(user, wanted)
    return true
  })
}

async function forEachUserKey(
  context: KmipContext,
  master: ManagedObject,
  end: (user: ManagedObject) => boolean,
): Promise<void> {
  if (master.form.abe?.kind !== 'master') return
  let ended = 0
  for (const { id } of await listUserKeys(context.services.db, master.id)) {
    const user = await context.objects.read(id)
    if (user !== undefined && end(user)) ended++
  }
  if (ended > 0) context.audit({ details: { user_keys: ended } })
}
