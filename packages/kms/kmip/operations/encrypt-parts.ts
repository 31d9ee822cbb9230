import type { KeyObject } from 'node:crypto'
import { atLeast, Tag } from '@warder/kmip/tables'
import { byteString, type TtlvNode } from '@warder/kmip/ttlv'
import type { CipherPlan } from '../crypto/cipher-plan.ts'
import { type CipherStream, openEncryption } from '../crypto/symmetric.ts'
import { type KmipContext, uniqueIdentifier } from '../engine/index.ts'
import { requireRoom, type Stream, stageEnd, stagePart, streamOf } from '../streams/index.ts'
import { collectPart } from './collected-parts.ts'
import type { CryptographicRequest } from './cryptographic-request.ts'
import { budget, cipherOf, encryptWhole } from './encrypt.ts'
import { keyObjectOf, takeUse } from './key-use.ts'

const nothing = new Uint8Array(0)

/**
 * A part of an encryption. The parts before are run through the cipher again, which is fast, and then this one: there is
 * no form in which a cipher could be kept. What takes all data at once (CCM, RSA …) has its output at the end.
 */
export async function encryptPart(
  request: CryptographicRequest,
  context: KmipContext,
): Promise<readonly (TtlvNode | undefined)[]> {
  const key = await keyObjectOf(context)
  const stream = await streamOf('Encrypt', request, context)
  const first = stream.before[0] ?? request
  const plan = key.type === 'secret' ? cipherOf(context, key, first) : undefined
  if (plan === undefined || plan.kind === 'whole')
    return collectPart('Encrypt', request, context, (whole) => encryptWhole(key, whole, context))
  requireRoom(stream.row, request.data?.length ?? 0)
  if (plan.mode === 'GCM' && first.iv === undefined) await budget(context)
  takeUse(context, context.key.object, request.data?.length ?? 0, stream.row === undefined)
  const cipher = resumed(key, plan, stream, first)
  return answer(request, cipher, stream, plan, context)
}

interface Resumed {
  readonly cipher: CipherStream
  /** Of the whole stream, given by the client or made for it. */
  readonly iv: Uint8Array | undefined
  /** Set when it was made now. */
  readonly fresh: Buffer | undefined
}

function resumed(key: KeyObject, plan: CipherPlan, { before }: Stream, first: CryptographicRequest): Resumed {
  const { randomIV: _asked, ...parameters } = plan.parameters
  const cipher = openEncryption(key, before.length === 0 ? plan : { ...plan, parameters }, first)
  for (const { data } of before) cipher.update(data ?? nothing)
  return { cipher, iv: cipher.iv ?? first.iv, fresh: cipher.iv }
}

async function answer(
  request: CryptographicRequest,
  { cipher, iv, fresh }: Resumed,
  stream: Stream,
  plan: CipherPlan,
  context: KmipContext,
): Promise<readonly (TtlvNode | undefined)[]> {
  const { id } = context.key.object
  const data = request.data ?? nothing
  if (!request.final) {
    const out = cipher.update(data)
    const kept = stream.row === undefined ? { ...request, iv } : request
    const correlation = await stagePart('Encrypt', stream, kept, context)
    return [
      uniqueIdentifier(id),
      byteString(Tag.Data, out),
      fresh && byteString(Tag.IVCounterNonce, fresh),
      byteString(Tag.CorrelationValue, correlation),
    ]
  }
  const { data: out, tag } = cipher.final(data)
  stageEnd(stream, context)
  const apart = plan.tag === 0 || tag === undefined || atLeast(context.version, '1.4')
  return [
    uniqueIdentifier(id),
    byteString(Tag.Data, apart ? out : Buffer.concat([out, tag])),
    apart && tag !== undefined ? byteString(Tag.AuthenticatedEncryptionTag, tag) : undefined,
  ]
}
