import { andThen } from '@warder/foundation/promises'
import type { TtlvNode } from '@warder/kmip/ttlv'
import { approvalNeeded } from '../../../../access/index.ts'
import { stateAt, transition } from '../../../../keys/index.ts'
import type { KmipContext, KmipOperation } from '../../engine/index.ts'
import { kmipFailure, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { destroyUserKeys } from './abe-cascade.ts'

/**
 * Destroy (KMIP 2.1 §6.1.15): the material is gone for good, the attributes stay. What is Active has to be revoked
 * first.
 */
export const destroy: KmipOperation = {
  name: 'Destroy',
  access: objectRight('destroy'),
  act(_payload, context) {
    const { object, services } = context
    // An approved destruction runs when it is approved: there is nothing to use here.
    return andThen(services.roles.approvals.covers('destroy', object), (covered) => {
      if (covered) throw approvalNeeded('destroy', services.roles.officers)
      const answer = destroyed(context)
      return object.form.abe === undefined ? answer : destroyUserKeys(context, object).then(() => answer)
    })
  },
}

function destroyed({ object, objects, now }: KmipContext): readonly TtlvNode[] {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  if (state === 'Active' && object.type !== 'OpaqueObject')
    throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
  const cycle =
    state === 'Active'
      ? { ...object, state: 'Destroyed' as const, destroyedAt: now }
      : transition({ ...object, state }, 'destroy', now)
  objects.update(object, { state: cycle.state, destroyedAt: cycle.destroyedAt }, null)
  return [uniqueIdentifier(object.id)]
}
