import { andThen } from '@warder/foundation/promises'
import { type KmipOperation, keyUse } from '../../engine/index.ts'
import { isPart, readReceivedRequest } from '../../streams/cryptographic-request.ts'
import { encryptAbe } from './abe-use.ts'
import { encryptPart } from './encrypt-parts.ts'
import { findBackendKey, requireUse } from './key-use.ts'
import { encryptWhole } from './whole-encryption.ts'

/**
 * Encrypt (KMIP 2.1 §6.1.17): with a secret key, for an RSA key or a certificate, or a fresh secret for an ML-KEM key
 * (Data is the secret then, IVCounterNonce its encapsulation). Synchronous for a cached secret key.
 */
export const encrypt: KmipOperation = {
  name: 'Encrypt',
  access: keyUse('encrypt'),
  act(payload, context) {
    const request = readReceivedRequest(payload, context)
    const { object } = context.key
    requireUse(context, object, 'encrypt')
    if (context.key.object.form.abe !== undefined) return encryptAbe(request, context)
    if (isPart(request)) return encryptPart(request, context)
    return andThen(findBackendKey(context), (key) => encryptWhole(key, request, context))
  },
}
