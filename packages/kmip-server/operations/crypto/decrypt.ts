import {
  type BackendKey,
  type CipherPlan,
  isKemKey,
  joseEncryption,
  modulusBits,
  planRsa,
  requireKem,
  whyDecryptionEncrypts,
} from '@warder/crypto'
import { requireUse } from '@warder/keys'
import { atLeast, Tag } from '@warder/kmip-codec'
import { defineOperation, keyUse, namedObject } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireBinding } from '../../key-blocks/key-binding.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import {
  type CryptographicRequest,
  cryptographicRequest,
  isPart,
  requireData,
} from '../../streams/cryptographic-request.ts'
import { findFirstRequest, middlePart, partOut, resumeCipher } from '../../streams/running-ciphers.ts'
import { requireSameParameters, requireStream, stageEnd } from '../../streams/stream.ts'
import { decryptAbe } from './abe-use.ts'
import { collect } from './collected-parts.ts'
import { type EncryptedReply, planEncryption, requireNone } from './encrypt.ts'
import { algorithmInUse, findBackendKey, requireRight, resolveParameters } from './key-use.ts'

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

/** Members of the reply to a decryption. */
export type DecryptedReply = Omit<EncryptedReply, 'iv' | 'tag'>

/** A decryption in one message. */
async function decryptWhole(
  key: BackendKey,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<DecryptedReply> {
  const { id } = context.key.object
  return { uniqueIdentifier: id, data: await decryptRequest(key, request, context) }
}

async function decryptRequest(
  key: BackendKey,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<Buffer> {
  const { object } = context.key
  const { shape } = key
  if (shape.type === 'secret') {
    const plan = planEncryption(context, key, request, 'decrypt')
    await requireRight(context, object, 'encrypt', whyDecryptionEncrypts(plan))
    return key.decrypt(plan, toSealed(request, plan, context))
  }
  requireNone(request)
  if (shape.type !== 'private') throw kmipFailure('InvalidObjectType', 'A public key cannot decrypt.')
  const { policy } = context.services
  const parameters = resolveParameters(object, request.parameters)
  const data = requireData(request)
  if (isKemKey(shape)) {
    requireKem(shape, parameters, policy)
    context.audit({ algorithm: algorithmInUse(object) })
    return key.decapsulate(data)
  }
  if (shape.asymmetricKeyType !== 'rsa')
    throw kmipFailure('UnsupportedCryptographicParameters', 'Keys of this type cannot decrypt.')
  const plan = planRsa(modulusBits(shape), parameters, policy)
  requireBinding(object, joseEncryption(plan))
  context.audit({ algorithm: `RSA ${plan.padding}` })
  return key.decryptRsa(plan, data)
}

/** Before 1.4 there is no member for the tag: the data ends with it. */
function toSealed(request: CryptographicRequest, plan: CipherPlan, { version }: KmipContext) {
  const { iv, aad, tag } = request
  const data = requireData(request)
  if (plan.tag === 0 || tag !== undefined || atLeast(version, '1.4')) return { data, iv, aad, tag }
  const end = Math.max(0, data.length - plan.tag)
  return { data: data.subarray(0, end), iv, aad, tag: data.subarray(end) }
}
