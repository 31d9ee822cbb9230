import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { draftVersion, Enumeration, Tag } from '@warder/kmip-codec'
import { defineOperation, signedIn } from '../../engine/operation.ts'
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

/** Functions by their positions in CK_FUNCTION_LIST, and return values (PKCS#11 2.40 §5.1). */
const { C_Initialize, C_Finalize, C_GetInfo } = Enumeration.PKCS_11Function
const ok = 0x0
const functionNotSupported = 0x54
const notInitialized = 0x190

/**
 * PKCS_11 (KMIP 2.1 §6.1.37) for a server without a token: a client can initialize, get the library information and
 * finalize. The answer to every other function is CKR_FUNCTION_NOT_SUPPORTED. There is no state: the correlation value
 * only shows that a client has initialized; 3.0 repeats it in each answer.
 */
export const pkcs11 = defineOperation({
  name: 'PKCS_11',
  reach: [],
  access: signedIn,
  request: definePayload({
    called: required(field.code(Tag.PKCS_11Function)),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  reply: definePayload({
    called: required(field.code(Tag.PKCS_11Function)),
    correlation: field.bytes(Tag.CorrelationValue),
    output: field.bytes(Tag.PKCS_11OutputParameters),
    code: required(field.code(Tag.PKCS_11ReturnCode)),
  }),
  handle({ called, correlation }, context) {
    context.audit({ details: { function: called } })
    if (called === C_Initialize) return { called, correlation: randomBytes(16), code: ok }
    if (correlation === undefined) return { called, code: notInitialized }
    const answered = context.version === draftVersion ? { called, correlation } : { called }
    if (called === C_GetInfo) return { ...answered, output: info, code: ok }
    return { ...answered, code: called === C_Finalize ? ok : functionNotSupported }
  },
})

/** CK_INFO (PKCS#11 2.40 §3.1): version 2.40, manufacturer, flags, description, version of the library. */
const info = Buffer.concat([
  Buffer.from([2, 40]),
  Buffer.from('Warder'.padEnd(32)),
  Buffer.alloc(8),
  Buffer.from('Warder KMIP server, no token'.padEnd(32)),
  Buffer.from([1, 0]),
])
