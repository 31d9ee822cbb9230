import { Tag } from '@warder/kmip/tables'
import { optional, requireName } from '@warder/kmip/ttlv'
import { type KmipOperation, kmipFailure, signedIn } from '../../engine/index.ts'

/** Ping (KMIP 2.1 §6.1.36): the server is there, and knows who asks. */
export const ping: KmipOperation = { name: 'Ping', access: signedIn, act: () => [] }

const maxTextBytes = 4096

/** Log (KMIP 2.1 §6.1.29): the client's words go into the audit record of this item. */
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
 * Interop (KMIP 2.1 §6.1.26): test programs say where a case begins and ends. Nothing is done here, also not for Reset:
 * no client may take away what others have.
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
