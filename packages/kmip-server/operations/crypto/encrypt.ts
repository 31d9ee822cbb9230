import { andThen } from '@warder/base'
import { requireUse } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { keyUse } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { operation } from '../../engine/operation.ts'
import { field, payload, required } from '../../payloads/payload.ts'
import { cryptographicRequest, isPart } from '../../streams/cryptographic-request.ts'
import { encryptAbe } from './abe-use.ts'
import { encryptPart } from './encrypt-parts.ts'
import { findBackendKey } from './key-use.ts'
import { encryptWhole } from './whole-encryption.ts'

/**
 * Encrypt (KMIP 2.1 §6.1.17): with a secret key, for an RSA key or a certificate, or a fresh secret for an ML-KEM key
 * (Data is the secret then, IVCounterNonce its encapsulation). Synchronous for a cached secret key.
 */
export const encrypt = operation({
  name: 'Encrypt',
  access: keyUse('encrypt'),
  request: cryptographicRequest,
  reply: payload({
    uniqueIdentifier: required(namedObject),
    data: field.bytes(Tag.Data),
    iv: field.bytes(Tag.IVCounterNonce),
    tag: field.bytes(Tag.AuthenticatedEncryptionTag),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  handle(request, context) {
    const { object } = context.key
    requireUse(context, object, 'encrypt')
    if (context.key.object.form.abe !== undefined) return encryptAbe(request, context)
    if (isPart(request)) return encryptPart(request, context)
    return andThen(findBackendKey(context), (key) => encryptWhole(key, request, context))
  },
})
