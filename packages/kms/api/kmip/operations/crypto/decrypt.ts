import { andThen } from '@warder/foundation/promises'
import { type KmipOperation, keyUse } from '../../engine/index.ts'
import { isPart, readReceivedRequest } from '../../streams/cryptographic-request.ts'
import { decryptAbe } from './abe-use.ts'
import { decryptPart } from './decrypt-parts.ts'
import { findBackendKey, requireUse } from './key-use.ts'
import { decryptWhole } from './whole-decryption.ts'

/** Decrypt (KMIP 2.1 §6.1.11). Every failed decryption is reported as CryptographicFailure, CRYPTO. */
export const decrypt: KmipOperation = {
  name: 'Decrypt',
  access: keyUse('decrypt'),
  act(payload, context) {
    const request = readReceivedRequest(payload, context)
    requireUse(context, context.key.object, 'decrypt')
    if (context.key.object.form.abe !== undefined) return decryptAbe(request, context)
    if (isPart(request)) return decryptPart(request, context)
    return andThen(findBackendKey(context), (key) => decryptWhole(key, request, context))
  },
}
