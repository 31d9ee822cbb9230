import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, enumeration, optional, requireMember, type TtlvNode } from '@warder/kmip/ttlv'
import { type KmipOperation, signedIn } from '../../engine/index.ts'

/** Functions by their places in CK_FUNCTION_LIST, and return values (PKCS#11 2.40 §5.1). */
const { C_Initialize, C_Finalize, C_GetInfo } = Enumeration.PKCS_11Function
const ok = 0x0
const functionNotSupported = 0x54
const notInitialized = 0x190

/**
 * PKCS_11 (KMIP 2.1 §6.1.37), as far as a server without a token goes: a client can begin, ask what the library is and
 * end. Every other function is answered CKR_FUNCTION_NOT_SUPPORTED. Nothing is kept: the correlation value only says
 * that a client has begun.
 */
export const pkcs11: KmipOperation = {
  name: 'PKCS_11',
  access: signedIn,
  act(payload, context) {
    const called = requireMember(payload, Tag.PKCS_11Function, 'Enumeration')
    const begun = optional(payload, Tag.CorrelationValue, 'ByteString') !== undefined
    context.audit({ details: { function: called } })
    const answer = (code: number, ...members: readonly TtlvNode[]): readonly TtlvNode[] => [
      enumeration(Tag.PKCS_11Function, called),
      ...members,
      enumeration(Tag.PKCS_11ReturnCode, code),
    ]
    if (called === C_Initialize) return answer(ok, byteString(Tag.CorrelationValue, randomBytes(16)))
    if (!begun) return answer(notInitialized)
    if (called === C_GetInfo) return answer(ok, byteString(Tag.PKCS_11OutputParameters, info))
    return answer(called === C_Finalize ? ok : functionNotSupported)
  },
}

/** CK_INFO (PKCS#11 2.40 §3.1): version 2.40, manufacturer, flags, description, version of the library. */
const info = Buffer.concat([
  Buffer.from([2, 40]),
  Buffer.from('Warder'.padEnd(32)),
  Buffer.alloc(8),
  Buffer.from('Warder KMIP server, no token'.padEnd(32)),
  Buffer.from([1, 0]),
])
