import { stateAt, transition } from '../../../../keys/index.ts'
import type { KmipOperation } from '../../engine/index.ts'
import { kmipFailure, objectRight, uniqueIdentifier } from '../../engine/index.ts'

/**
 * Destroy (KMIP 2.1 §6.1.15): the material is gone for good, the attributes stay. What is Active has to be revoked
 * first.
 */
export const destroy: KmipOperation = {
  name: 'Destroy',
  access: objectRight('destroy'),
  act(_payload, { object, objects, now }) {
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
  },
}
