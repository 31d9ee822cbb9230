import { findLinkTarget, type ManagedObject, type NewObject, userKeysWithout } from '@warder/keys'
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
