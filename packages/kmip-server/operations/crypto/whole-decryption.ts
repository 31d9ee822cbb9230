import {
  type BackendKey,
  type CipherPlan,
  isKemKey,
  joseEncryption,
  modulusBits,
  planRsa,
  requireKem,
  whyDecryptionEncrypts,
} from '@warder/keys'
import { atLeast } from '@warder/kmip-codec'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireBinding } from '../../key-blocks/key-binding.ts'
import { type CryptographicRequest, requireData } from '../../streams/cryptographic-request.ts'
import { algorithmInUse, requireRight, resolveParameters } from './key-use.ts'
import { type EncryptedReply, planEncryption, requireNone } from './whole-encryption.ts'

/** Members of the reply to a decryption. */
export type DecryptedReply = Omit<EncryptedReply, 'iv' | 'tag'>

/** A decryption in one message. */
export async function decryptWhole(
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
