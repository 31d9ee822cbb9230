import { type CipherParts, type CipherPlan, requireUse, takeUse } from '@warder/keys'
import { atLeast, Tag } from '@warder/kmip-codec'
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
import { findFirstRequest, keep, resumeCipher } from '../../streams/running-ciphers.ts'
import { requireSameParameters, requireStream, stageEnd, stagePart } from '../../streams/stream.ts'
import type { StreamRow } from '../../streams/stream-store.ts'
import { encryptAbe } from './abe-use.ts'
import { collect } from './collected-parts.ts'
import { findBackendKey, requireOneWay, takeInvocation } from './key-use.ts'
import { middlePart, partOut } from './middle-part.ts'
import { type EncryptedReply, encryptWhole, planEncryption } from './whole-encryption.ts'

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
