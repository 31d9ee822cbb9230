import { Tag } from '@warder/kmip-codec'
import { defineOperation, namedObject, objectReply, objectRight } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { revokeObject } from './revoke.ts'

/**
 * Deactivate (KMIP 3.0 draft §6.1.14): deactivates an object that is Active or Pre-Active, as Revoke does for any reason
 * but a compromise. The other reasons of the draft are those for which a server deactivates an object by itself.
 */
export const deactivate = defineOperation({
  name: 'Deactivate',
  reach: ['change state', 'end object'],
  access: objectRight('revoke'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    reason: field.group(Tag.DeactivationReason, {
      code: required(field.named('DeactivationReasonCode')),
      message: field.text(Tag.DeactivationMessage),
    }),
    date: field.date(Tag.DeactivationDate),
  }),
  reply: objectReply,
  handle({ reason, date }, context) {
    if (date !== undefined)
      throw kmipFailure(
        'FeatureNotSupported',
        'An object is deactivated now: set its DeactivationDate instead.',
      )
    if (reason !== undefined && reason.code !== 'Unspecified')
      throw kmipFailure('InvalidField', 'Of the deactivation reasons a client can give only Unspecified.')
    if (context.object.type === 'Certificate')
      throw kmipFailure('InvalidObjectType', 'A certificate is not deactivated: revoke it.')
    return revokeObject(context, context.object, { code: 'Unspecified', message: reason?.message }, undefined)
  },
})
