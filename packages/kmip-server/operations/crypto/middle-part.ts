import type { KmipContext } from '../../engine/types.ts'
import type { CryptographicRequest } from '../../streams/cryptographic-request.ts'
import { keep, type RunningCipher } from '../../streams/running-ciphers.ts'
import { stagePart } from '../../streams/stream.ts'
import type { StreamRow } from '../../streams/stream-store.ts'
import type { DecryptedReply } from './whole-decryption.ts'

const nothing = new Uint8Array(0)

/** Processes a part that is not the last one with its cipher, and stores both for the next part. */
export async function middlePart(
  operation: 'Encrypt' | 'Decrypt',
  row: StreamRow | undefined,
  request: CryptographicRequest,
  context: KmipContext,
  running: RunningCipher,
): Promise<DecryptedReply> {
  const out = running.cipher.update(request.data ?? nothing)
  const staged = await stagePart(operation, row, request, context, running.replayed)
  keep(staged, running, context)
  return {
    uniqueIdentifier: context.key.object.id,
    data: partOut(out),
    correlation: staged.correlation,
  }
}

/** Output of a part: empty while the cipher waits for a whole block. */
export function partOut(out: Uint8Array): Uint8Array | undefined {
  return out.length === 0 ? undefined : out
}
