import { Tag } from '@warder/kmip-codec'
import { signedIn } from '../../engine/access.ts'
import { defineOperation } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, noMembers, required } from '../../payloads/payload.ts'

/** Ping (KMIP 2.1 §6.1.36): the server is available, and has authenticated the caller. */
export const ping = defineOperation({
  name: 'Ping',
  reach: [],
  access: signedIn,
  request: noMembers,
  reply: noMembers,
  handle: () => ({}),
})

const maxTextBytes = 4096

/** Log (KMIP 2.1 §6.1.29): the audit record of this item contains the client's message. */
export const log = defineOperation({
  name: 'Log',
  reach: [],
  access: signedIn,
  request: definePayload({ message: required(field.text(Tag.LogMessage)) }),
  reply: noMembers,
  handle({ message }, context) {
    if (message.length > maxTextBytes)
      throw kmipFailure('InvalidField', `LogMessage may have at most ${maxTextBytes} characters.`)
    context.audit({ details: { message } })
    return {}
  },
})

/**
 * Interop (KMIP 2.1 §6.1.26): test programs mark the begin and the end of a case. The server does nothing, not even for
 * Reset: no client may delete objects of other users.
 */
export const interop = defineOperation({
  name: 'Interop',
  reach: [],
  access: signedIn,
  request: definePayload({
    step: required(field.named('InteropFunction')),
    identifier: field.text(Tag.InteropIdentifier),
  }),
  reply: noMembers,
  handle({ step, identifier }, context) {
    context.audit({ details: { step, ...(identifier !== undefined && { case: identifier }) } })
    return {}
  },
})
