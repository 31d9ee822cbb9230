import { stateAt } from '@warder/keys'
import { defineOperation, objectReply, objectRequest, objectRight } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'

/** Object types that cannot be activated (KMIP 2.1 §6.1.1). */
const notActivated: ReadonlySet<string> = new Set(['OpaqueObject', 'CertificateRequest', 'Template'])

/** Activate (KMIP 2.1 §6.1.1): from now on the key may be used. */
export const activate = defineOperation({
  name: 'Activate',
  reach: ['change state'],
  access: objectRight('activate'),
  request: objectRequest,
  reply: objectReply,
  handle(_request, { object, objects, now }) {
    if (notActivated.has(object.type))
      throw kmipFailure('InvalidObjectType', `An object of type ${object.type} cannot be activated.`)
    if (stateAt(object, now) !== 'PreActive') throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
    objects.update(object, { state: 'Active', activationAt: now })
    return { uniqueIdentifier: object.id }
  },
})
