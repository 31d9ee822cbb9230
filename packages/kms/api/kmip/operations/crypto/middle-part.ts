import { Tag } from '@warder/kmip/tables'
import { byteString, type TtlvNode } from '@warder/kmip/ttlv'
import { type KmipContext, uniqueIdentifier } from '../../engine/index.ts'
import type { CryptographicRequest } from '../../streams/cryptographic-request.ts'
import { keep, type RunningCipher, type StreamRow, stagePart } from '../../streams/index.ts'

const nothing = new Uint8Array(0)

/** Processes a part that is not the last one with its cipher, and stores both for the next part. */
export async function middlePart(
  operation: 'Encrypt' | 'Decrypt',
  row: StreamRow | undefined,
  request: CryptographicRequest,
  context: KmipContext,
  running: RunningCipher,
): Promise<readonly (TtlvNode | undefined)[]> {
  const out = running.cipher.update(request.data ?? nothing)
  const staged = await stagePart(operation, row, request, context, running.replayed)
  keep(staged, running, context)
  return [
    uniqueIdentifier(context.key.object.id),
    partOut(out),
    byteString(Tag.CorrelationValue, staged.correlation),
  ]
}

/** Output of a part: empty while the cipher waits for a whole block. */
export function partOut(out: Uint8Array): TtlvNode | undefined {
  return out.length === 0 ? undefined : byteString(Tag.Data, out)
}
