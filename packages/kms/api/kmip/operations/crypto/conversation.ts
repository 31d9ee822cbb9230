import { Tag } from '@warder/kmip/tables'
import { optional, requireName } from '@warder/kmip/ttlv'
import { type KmipOperation, kmipFailure, signedIn } from '../../engine/index.ts'

/** Ping (KMIP 2.1 §6.1.36): the server is available, and has authenticated the caller. */
export const ping: KmipOperation = { name: 'Ping', access: signedIn, act: () => [] }

const maxTextBytes = 4096

/** Log (KMIP 2.1 §6.1.29): the audit record of this item contains the client's message. */
export const log: KmipOperation = {
  name: 'Log',
  access: signedIn,
  act(payload, context) {
    const message = optional(payload, Tag.LogMessage, 'TextString')
    if (message === undefined) throw kmipFailure('MissingData', 'LogMessage is missing.')
    if (message.length > maxTextBytes)
      throw kmipFailure('InvalidField', `LogMessage has at most ${maxTextBytes} characters.`)
    context.audit({ details: { message } })
    return []
  },
}

/**
 * Interop (KMIP 2.1 §6.1.26): test programs mark the begin and the end of a case. The server does nothing, not even for
 * Reset: no client may delete objects of other users.
 */
export const interop: KmipOperation = {
  name: 'Interop',
  access: signedIn,
  act(payload, context) {
    const step = requireName(payload, Tag.InteropFunction, 'InteropFunction')
    const identifier = optional(payload, Tag.InteropIdentifier, 'TextString')
    context.audit({ details: { step, ...(identifier !== undefined && { case: identifier }) } })
    return []
  },
}
