import { errorKinds } from '@warder/base'
import { encodeResponse, KmipDecodeError, sniffVersion, toErrorResponse } from '@warder/kmip-codec'
import type { KmipEngine } from '../engine/types.ts'

/**
 * The engine of a service that is sealed: it decodes no message, and answers each with General Failure in its version.
 * @param now Unix milliseconds
 */
export function createSealedEngine(now: () => number): Pick<KmipEngine, 'answer'> {
  return {
    async answer(bytes) {
      const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      const refusal = new KmipDecodeError('wrong_member', errorKinds.sealed.sentence, sniffVersion(message))
      const response = toErrorResponse(refusal, Math.floor(now() / 1000))
      const items = response.items.map((item) => ({ ...item, reason: 'GeneralFailure' as const }))
      return encodeResponse({ ...response, items }, 'ttlv')
    },
  }
}
