import {
  type BackendKey,
  type CipherPlan,
  type Encrypted,
  encapsulateFor,
  encryptRsa,
  isCipher,
  isKemKey,
  joseCipher,
  joseEncryption,
  joseTagBytes,
  modulusBits,
  planCipher,
  planRsa,
  requireKem,
  takeUse,
} from '@warder/keys'
import { atLeast } from '@warder/kmip-codec'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireBinding } from '../../key-blocks/key-binding.ts'
import { type CryptographicRequest, requireData } from '../../streams/cryptographic-request.ts'
import { algorithmInUse, requireOneWay, resolveParameters, takeInvocation } from './key-use.ts'

/** Members of the reply to an encryption. */
export interface EncryptedReply {
  readonly uniqueIdentifier: string
  readonly data?: Uint8Array | undefined
  readonly iv?: Uint8Array | undefined
  readonly tag?: Uint8Array | undefined
  readonly correlation?: Uint8Array | undefined
}

/** An encryption in one message. */
export async function encryptWhole(
  held: BackendKey,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<EncryptedReply> {
  const { publicKey: key } = held
  if (key === undefined) return await encryptSecretly(held, request, context)
  const { object } = context.key
  const { policy } = context.services
  requireNone(request)
  const parameters = resolveParameters(object, request.parameters)
  if (isKemKey(key)) {
    requireKem(key, parameters, policy)
    // JOSE encapsulates only to derive a key from the secret (draft-ietf-jose-pqc-kem).
    requireBinding(object, [])
    takeUse(context, object, 0, true)
    const { secret, encapsulation } = encapsulateFor(key)
    context.audit({ algorithm: algorithmInUse(object) })
    return answer(context, { data: secret, iv: encapsulation, tag: undefined })
  }
  if (key.asymmetricKeyType !== 'rsa')
    throw kmipFailure('UnsupportedCryptographicParameters', 'Keys of this type cannot encrypt.')
  const plan = planRsa(modulusBits(key), parameters, policy)
  requireBinding(object, joseEncryption(plan))
  const data = requireData(request)
  takeUse(context, object, data.length, true)
  context.audit({ algorithm: `RSA ${plan.padding}` })
  return answer(context, { data: encryptRsa(key, plan, data), iv: undefined, tag: undefined })
}

/** @throws InvalidField for members that do not apply to public keys */
export function requireNone({ iv, aad, tag }: CryptographicRequest): void {
  if (iv !== undefined || aad !== undefined || tag !== undefined)
    throw kmipFailure('InvalidField', 'IV, additional data and tag are not allowed for this key.')
}

async function encryptSecretly(
  key: BackendKey,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<EncryptedReply> {
  const { object } = context.key
  const plan = planEncryption(context, key, request, 'encrypt')
  const data = requireData(request)
  const { iv, aad } = request
  await requireOneWay(context, object, plan, { iv, bytes: data.length, inParts: false })
  takeUse(context, object, data.length, true)
  // SP 800-38D §8.3 limits encryptions with random IVs.
  if (plan.mode === 'GCM' && iv === undefined) await takeInvocation(context, object)
  return answer(context, await key.encrypt(plan, { data, iv, aad }))
}

/**
 * The cipher that the request and the key determine; the audit record names it. A bound key still decrypts
 * earlier ciphertexts with a shorter tag.
 */
export function planEncryption(
  context: KmipContext,
  { shape }: BackendKey,
  request: CryptographicRequest,
  use: 'encrypt' | 'decrypt',
): CipherPlan {
  const { object } = context.key
  const algorithm = algorithmInUse(object)
  if (!isCipher(algorithm))
    throw kmipFailure('UnsupportedCryptographicParameters', `Encryption with ${algorithm} is not supported.`)
  const parameters = resolveParameters(object, request.parameters)
  const bytes = shape.symmetricKeySize ?? 0
  const plan = planCipher(algorithm, bytes, parameters, context.services.policy)
  const tag = use === 'decrypt' ? joseTagBytes : plan.tag
  requireBinding(object, joseCipher(algorithm, bytes, { ...plan, tag }))
  context.audit({ algorithm: plan.cipher })
  return plan
}

/** Before 1.4 there is no member for the tag: it is appended to the data. */
function answer({ key, version }: KmipContext, { data, iv, tag }: Encrypted): EncryptedReply {
  const uniqueIdentifier = key.object.id
  return tag === undefined || atLeast(version, '1.4')
    ? { uniqueIdentifier, data, iv, tag }
    : { uniqueIdentifier, data: Buffer.concat([data, tag]), iv }
}
