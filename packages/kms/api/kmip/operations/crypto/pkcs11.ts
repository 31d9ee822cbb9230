import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, enumeration, optional, requireMember, type TtlvNode } from '@warder/kmip/ttlv'
import { type KmipOperation, signedIn } from '../../engine/index.ts'

/** Functions by their positions in CK_FUNCTION_LIST, and return values (PKCS#11 2.40 §5.1). */
const { C_Initialize, C_Finalize, C_GetInfo } = Enumeration.PKCS_11Function
const ok = 0x0
const functionNotSupported = 0x54
const notInitialized = 0x190

/**
 * PKCS_11 (KMIP 2.1 §6.1.37) for a server without a token: a client can initialize, get the library information and
 * finalize. The answer to every other function is CKR_FUNCTION_NOT_SUPPORTED. There is no state: the correlation value
 * only shows that a client has initialized.
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
