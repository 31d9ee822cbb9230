import { Tag } from '@warder/kmip/tables'
import { byteString, type TtlvNode } from '@warder/kmip/ttlv'
import { openDecryption } from '../crypto/symmetric.ts'
import { type KmipContext, uniqueIdentifier } from '../engine/index.ts'
import { requireRoom, stageEnd, stagePart, streamOf } from '../streams/index.ts'
import { collectPart } from './collected-parts.ts'
import type { CryptographicRequest } from './cryptographic-request.ts'
import { decryptWhole } from './decrypt.ts'
import { cipherOf } from './encrypt.ts'
import { keyObjectOf } from './key-use.ts'

const nothing = new Uint8Array(0)

/**
 * A part of a decryption. Where there is a tag, no plaintext is given away before the last part with the tag came and it
 * was right; other modes answer each part.
 */
export async function decryptPart(
  request: CryptographicRequest,
  context: KmipContext,
): Promise<readonly (TtlvNode | undefined)[]> {
  const key = await keyObjectOf(context)
  const stream = await streamOf('Decrypt', request, context)
  const first = stream.before[0] ?? request
  const plan = key.type === 'secret' ? cipherOf(context, key, first) : undefined
  if (plan === undefined || plan.kind === 'whole' || plan.kind === 'aead')
    return collectPart('Decrypt', request, context, (whole) => decryptWhole(key, whole, context))
  requireRoom(stream.row, request.data?.length ?? 0)
  const cipher = openDecryption(key, plan, first)
  for (const { data } of stream.before) cipher.update(data ?? nothing)
  const { id } = context.key.object
  const data = request.data ?? nothing
  if (!request.final) {
    const out = cipher.update(data)
    const correlation = await stagePart('Decrypt', stream, request, context)
    return [uniqueIdentifier(id), byteString(Tag.Data, out), byteString(Tag.CorrelationValue, correlation)]
  }
  const out = cipher.final(data).data
  stageEnd(stream, context)
  return [uniqueIdentifier(id), byteString(Tag.Data, out)]
}
