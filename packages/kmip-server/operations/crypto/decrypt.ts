import { requireUse, whyDecryptionEncrypts } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { keyUse } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import {
  type CryptographicRequest,
  cryptographicRequest,
  isPart,
} from '../../streams/cryptographic-request.ts'
import { findFirstRequest, resumeCipher } from '../../streams/running-ciphers.ts'
import { requireSameParameters, requireStream, stageEnd } from '../../streams/stream.ts'
import { decryptAbe } from './abe-use.ts'
import { collect } from './collected-parts.ts'
import { findBackendKey, requireRight } from './key-use.ts'
import { middlePart, partOut } from './middle-part.ts'
import { type DecryptedReply, decryptWhole } from './whole-decryption.ts'
import { planEncryption } from './whole-encryption.ts'

const nothing = new Uint8Array(0)

/**
 * A part of a decryption. In modes with a tag, no plaintext is returned before the tag in the last part was verified;
 * other modes answer each part.
 */
async function decryptPart(request: CryptographicRequest, context: KmipContext): Promise<DecryptedReply> {
  const key = await findBackendKey(context)
  const row = await requireStream('Decrypt', request, context)
  // Later parts need not repeat the parameters of the first part.
  const first = row === undefined ? request : await findFirstRequest(row, context)
  requireSameParameters(first, request)
  const plan = key.shape.type === 'secret' ? planEncryption(context, key, first, 'decrypt') : undefined
  const { parts } = key
  if (plan === undefined || plan.kind === 'whole' || plan.kind === 'aead' || parts === undefined)
    return collect('Decrypt', row, request, context, (whole) => decryptWhole(key, whole, context))
  await requireRight(context, context.key.object, 'encrypt', whyDecryptionEncrypts(plan))
  const open = (asked: CryptographicRequest) => parts.openDecryption(plan, asked)
  const running =
    row === undefined
      ? { first: request, cipher: open(request), replayed: 0 }
      : await resumeCipher(row, context, open)
  const { id } = context.key.object
  if (!request.final) return middlePart('Decrypt', row, request, context, running)
  const out = running.cipher.final(request.data ?? nothing).data
  stageEnd(row, context)
  return { uniqueIdentifier: id, data: partOut(out) }
}

/** Decrypt (KMIP 2.1 §6.1.11). Every failed decryption is reported as CryptographicFailure, CRYPTO. */
export const decrypt = defineOperation({
  name: 'Decrypt',
  reach: ['reveal plaintext', 'make ciphertext'],
  asks: ['encrypt'],
  access: keyUse('decrypt'),
  request: cryptographicRequest,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    data: field.bytes(Tag.Data),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  async handle(request, context) {
    requireUse(context, context.key.object, 'decrypt')
    if (context.key.object.form.abe !== undefined) return decryptAbe(request, context)
    if (isPart(request)) return decryptPart(request, context)
    return await decryptWhole(await findBackendKey(context), request, context)
  },
})
