import { andThen } from '@warder/base'
import { requireUse } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { keyUse } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { operation } from '../../engine/operation.ts'
import { field, payload, required } from '../../payloads/payload.ts'
import { cryptographicRequest, isPart } from '../../streams/cryptographic-request.ts'
import { decryptAbe } from './abe-use.ts'
import { decryptPart } from './decrypt-parts.ts'
import { findBackendKey } from './key-use.ts'
import { decryptWhole } from './whole-decryption.ts'

/** Decrypt (KMIP 2.1 §6.1.11). Every failed decryption is reported as CryptographicFailure, CRYPTO. */
export const decrypt = operation({
  name: 'Decrypt',
  access: keyUse('decrypt'),
  request: cryptographicRequest,
  reply: payload({
    uniqueIdentifier: required(namedObject),
    data: field.bytes(Tag.Data),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  handle(request, context) {
    requireUse(context, context.key.object, 'decrypt')
    if (context.key.object.form.abe !== undefined) return decryptAbe(request, context)
    if (isPart(request)) return decryptPart(request, context)
    return andThen(findBackendKey(context), (key) => decryptWhole(key, request, context))
  },
})
