import {
  approvalNeeded,
  listUserKeys,
  requireNoApproval,
  runningTime,
  stateAt,
  transition,
  waiting,
} from '@warder/keys'
import {
  defineOperation,
  type ObjectReply,
  objectReply,
  objectRequest,
  objectRight,
} from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { destroyUserKeys, withholdUserKeys } from '../abe/user-keys.ts'

/**
 * Destroy (KMIP 2.1 §6.1.15): deletes the material for good; the attributes stay. An Active object must be revoked
 * first. Destroy also succeeds if destruction is delayed: the object cannot be used from then on, its vendor attribute
 * `destruction-date` has the time when its material is deleted, and its State does not change until then
 * (docs/adr/key-life-cycle-and-versions.md).
 */
export const destroy = defineOperation({
  name: 'Destroy',
  reach: ['change state', 'end object'],
  access: objectRight('destroy'),
  request: objectRequest,
  reply: objectReply,
  async handle(_request, context) {
    if (context.object.form.abe?.kind === 'master') return destroyMaster(context)
    const { approvals, destructions, officers } = context.services.roles
    if (await approvals.covers('destroy', context.object)) throw approvalNeeded('destroy', officers)
    return scheduleDestruction(context, await destructions.daysOf(context.object))
  },
})

/** User keys are destroyed with their master key, so the protection of a user key also applies to the master key. */
async function destroyMaster(context: KmipContext): Promise<ObjectReply> {
  const { db, roles } = context.services
  const parts = [context.object, ...(await listUserKeys(db, context.object.id))]
  const left = parts.filter(({ destroyedAt }) => destroyedAt === undefined)
  await requireNoApproval(roles, 'destroy', left)
  const days = await Promise.all(left.map((part) => roles.destructions.daysOf(part)))
  return scheduleDestruction(context, Math.max(0, ...days))
}

async function scheduleDestruction(context: KmipContext, days: number): Promise<ObjectReply> {
  requireDestroyable(context)
  if (context.object.destructionAt !== undefined) return { uniqueIdentifier: context.object.id }
  return days === 0 ? destroyNow(context) : waits(context, days)
}

function requireDestroyable({ object, now }: KmipContext): void {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  if (state === 'Active' && object.type !== 'OpaqueObject')
    throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
}

async function destroyNow(context: KmipContext): Promise<ObjectReply> {
  const { object, objects, now } = context
  const state = stateAt(object, now)
  const cycle =
    state === 'Active'
      ? { ...object, state: 'Destroyed' as const, destroyedAt: now }
      : transition({ ...object, state }, 'destroy', now)
  objects.update(object, { state: cycle.state, destroyedAt: cycle.destroyedAt }, null)
  if (object.form.abe !== undefined) await destroyUserKeys(context, object)
  return { uniqueIdentifier: object.id }
}

async function waits(context: KmipContext, days: number): Promise<ObjectReply> {
  const { object, objects, now, principal, services } = context
  const ranMs = await runningTime(services.db)
  const wanted = waiting({ days, by: principal.name, manner: 'destroy', now, ranMs })
  objects.update(object, wanted)
  if (object.form.abe !== undefined) await withholdUserKeys(context, object, wanted)
  context.audit({ details: { destruction_at: new Date(now + days * 86_400_000).toISOString() } })
  return { uniqueIdentifier: object.id }
}
