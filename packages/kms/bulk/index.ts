import { rawReply } from '@warder/foundation/http'
import type { LargeBody, RawReply } from '@warder/foundation/operations'
import type { ContentOpener, ContentSealer } from '../jose/index.ts'
import { bulkBytes, bulkThread } from './bulk.ts'

export { bulkBytes } from './bulk.ts'

/** Large bodies whose `member` is base64url are read on the thread. */
export function largeMember(member: string): LargeBody {
  return { fromBytes: bulkBytes, read: (body) => bulkThread.run({ type: 'read', body, member }, body) }
}

/** Seals on the thread; the reply is the flattened JWE as JSON. */
export const sealLarge: ContentSealer<Promise<RawReply>> = async (key, content) => {
  const { plaintext, ...rest } = content
  return jsonReply(await bulkThread.run({ type: 'seal', key, plaintext, ...rest }, plaintext))
}

/** Opens on the thread; the reply names the key and holds the plaintext. */
export const openLarge =
  (kid: string): ContentOpener<Promise<RawReply>> =>
  async (key, { iv, ciphertext, tag }, additional) =>
    jsonReply(await bulkThread.run({ type: 'open', key, iv, ciphertext, tag, additional, kid }, ciphertext))

function jsonReply(raw: Uint8Array): RawReply {
  return rawReply({ raw, contentType: 'application/json' })
}
