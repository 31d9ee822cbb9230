import { approvalNeeded, type ManagedObject, runningTime, stateAt, waiting } from '@warder/keys'
import { defineOperation, objectRequest, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { noMembers } from '../../payloads/payload.ts'

/** Types of objects that stand alone. */
const alone: ReadonlySet<ManagedObject['type']> = new Set<ManagedObject['type']>([
  'SymmetricKey',
  'SecretData',
  'OpaqueObject',
  'SplitKey',
  'PGPKey',
])

/**
 * Obliterate (KMIP 3.0 draft §6.1): removes an object with its attributes, so that nothing of it is found. It requires the
 * rights and the approvals of the removal of a key over REST, and waits as long; until then the object cannot be used.
 * Keys that belong together (pairs, versions, keys of attribute-based encryption or of an HSM) are removed over REST alone,
 * as a whole.
 */
export const obliterate = defineOperation({
  name: 'Obliterate',
  reach: ['change state', 'end object'],
  asks: ['revoke'],
  access: objectRight('destroy'),
  request: objectRequest,
  reply: noMembers,
  async handle(_request, context) {
    const { object, objects, services } = context
    if (!(await context.holds(object, 'revoke')))
      throw kmipFailure('PermissionDenied', 'Obliterate requires the right to revoke the object, too.')
    requireRemovable(context)
    const { approvals, destructions, officers } = services.roles
    if (await approvals.covers('destroy', object)) throw approvalNeeded('destroy', officers)
    const days = object.destroyedAt === undefined ? await destructions.daysOf(object) : 0
    if (days > 0) await removeLater(context, days)
    else objects.remove(object)
    return {}
  },
})

/** @throws kmipFailure InvalidObjectType, WrongKeyLifecycleState */
function requireRemovable({ object, now }: KmipContext): void {
  const { form, chainId, linkedId } = object
  const isPart = chainId !== undefined || linkedId !== undefined
  if (!alone.has(object.type) || isPart || form.abe !== undefined || form.hsm !== undefined)
    throw kmipFailure('InvalidObjectType', 'This object belongs to others: remove the whole key over REST.')
  if (object.destructionAt !== undefined)
    throw kmipFailure('WrongKeyLifecycleState', 'The destruction of the object is pending.')
  if (stateAt(object, now) === 'Active' && object.type !== 'OpaqueObject')
    throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
}

async function removeLater(context: KmipContext, days: number): Promise<void> {
  const { object, objects, now, principal, services } = context
  const ranMs = await runningTime(services.db)
  objects.update(object, waiting({ days, by: principal.name, manner: 'remove', now, ranMs }))
  context.audit({ details: { destruction_at: new Date(now + days * 86_400_000).toISOString() } })
}
