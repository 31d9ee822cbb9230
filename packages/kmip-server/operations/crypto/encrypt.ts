import {
  type BackendKey,
  type CipherParts,
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
} from '@warder/crypto'
import { requireUse, takeUse } from '@warder/keys'
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
import { findFirstRequest, keep, middlePart, partOut, resumeCipher } from '../../streams/running-ciphers.ts'
import { requireSameParameters, requireStream, stageEnd, stagePart } from '../../streams/stream.ts'
import type { StreamRow } from '../../streams/stream-store.ts'
import { encryptAbe } from './abe-use.ts'
import { collect } from './collected-parts.ts'
import {
  algorithmInUse,
  findBackendKey,
  requireOneWay,
  resolveParameters,
  takeInvocation,
} from './key-use.ts'

const nothing = new Uint8Array(0)

/** A part of an encryption. Algorithms that need all data at once (CCM, RSA …) have their output at the end. */
async function encryptPart(request: CryptographicRequest, context: KmipContext): Promise<EncryptedReply> {
  const key = await findBackendKey(context)
  const row = await requireStream('Encrypt', request, context)
  // Later parts need not repeat the parameters of the first part.
  const first = row === undefined ? request : await findFirstRequest(row, context)
  requireSameParameters(first, request)
  const plan = key.shape.type === 'secret' ? planEncryption(context, key, first, 'encrypt') : undefined
  const { parts } = key
  if (plan === undefined || plan.kind === 'whole' || parts === undefined)
    return collect('Encrypt', row, request, context, (whole) => encryptWhole(key, whole, context))
  // A continued stream uses the IV of its first part, for which this right was checked.
  const choice = { iv: request.iv, bytes: request.data?.length ?? 0, inParts: true }
  await requireOneWay(context, context.key.object, plan, choice)
  takeUse(context, context.key.object, choice.bytes, row === undefined)
  if (row === undefined) return begun(parts, plan, request, context)
  return continueEncryption(parts, plan, row, request, context)
}

async function begun(
  parts: CipherParts,
  plan: CipherPlan,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<EncryptedReply> {
  if (plan.mode === 'GCM' && request.iv === undefined) await takeInvocation(context, context.key.object)
  const cipher = parts.openEncryption(plan, request)
  const out = cipher.update(request.data ?? nothing)
  // A generated IV is stored with the part, so that the cipher can be restored.
  const first = { ...request, iv: cipher.iv ?? request.iv }
  const staged = await stagePart('Encrypt', undefined, first, context)
  keep(staged, { first, cipher }, context)
  return {
    uniqueIdentifier: context.key.object.id,
    data: partOut(out),
    iv: cipher.iv,
    correlation: staged.correlation,
  }
}

async function continueEncryption(
  parts: CipherParts,
  plan: CipherPlan,
  row: StreamRow,
  request: CryptographicRequest,
  context: KmipContext,
): Promise<EncryptedReply> {
  const { id } = context.key.object
  const { randomIV: _asked, ...parameters } = plan.parameters
  const running = await resumeCipher(row, context, (first) =>
    parts.openEncryption({ ...plan, parameters }, first),
  )
  if (!request.final) return middlePart('Encrypt', row, request, context, running)
  const { data: out, tag } = running.cipher.final(request.data ?? nothing)
  stageEnd(row, context)
  const apart = tag === undefined || atLeast(context.version, '1.4')
  return {
    uniqueIdentifier: id,
    data: partOut(apart ? out : Buffer.concat([out, tag])),
    tag: apart ? tag : undefined,
  }
}

/**
 * Encrypt (KMIP 2.1 §6.1.17): with a secret key, for an RSA key or a certificate, or a fresh secret for an ML-KEM key
 * (Data is the secret then, IVCounterNonce its encapsulation).
 */
export const encrypt = defineOperation({
  name: 'Encrypt',
  reach: ['make ciphertext', 'reveal plaintext', 'change limits'],
  asks: ['decrypt'],
  access: keyUse('encrypt'),
  request: cryptographicRequest,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    data: field.bytes(Tag.Data),
    iv: field.bytes(Tag.IVCounterNonce),
    tag: field.bytes(Tag.AuthenticatedEncryptionTag),
    correlation: field.bytes(Tag.CorrelationValue),
  }),
  async handle(request, context) {
    const { object } = context.key
    requireUse(context, object, 'encrypt')
    if (context.key.object.form.abe !== undefined) return encryptAbe(request, context)
    if (isPart(request)) return encryptPart(request, context)
    return await encryptWhole(await findBackendKey(context), request, context)
  },
})

/** Members of the reply to an encryption. */
export interface EncryptedReply {
  readonly uniqueIdentifier: string
  readonly data?: Uint8Array | undefined
  readonly iv?: Uint8Array | undefined
  readonly tag?: Uint8Array | undefined
  readonly correlation?: Uint8Array | undefined
}

/** An encryption in one message. */
async function encryptWhole(
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
