import { covercryptError, eachItem } from '../error.ts'
import { type BulkSealRequest, decodeItems, encodeItems } from '../frames/frames.ts'
import type { PublicKey, UserKey } from '../keys/key-types.ts'
import { dataKeyFor, type KeyOpener, open, recoverDataKey, sealWith } from './sealing.ts'

/** Maximum number of different encapsulations in a request. */
const maxEncapsulations = 256

/** One encapsulation for all items, repeated in each; a nonce for each. */
export function sealMany(
  publicKey: PublicKey,
  { policy, plaintexts }: BulkSealRequest,
  aad: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const dataKey = dataKeyFor(publicKey, policy)
  try {
    return encodeItems(eachItem(plaintexts, (plaintext) => sealWith(dataKey, plaintext, aad)))
  } finally {
    dataKey.key.fill(0)
  }
}

/**
 * Decrypts all items, or fails.
 *
 * @throws CovercryptError cannot_open, malformed (the frames), too_large
 */
export function openMany(userKey: UserKey, data: Uint8Array, aad: Uint8Array): Uint8Array<ArrayBuffer> {
  const findKey = remembering(userKey)
  const plaintexts = eachItem(decodeItems(data), (item) => open(findKey, item, aad))
  const reply = encodeItems(plaintexts)
  for (const plaintext of plaintexts) plaintext.fill(0)
  return reply
}

/** Items that were encrypted together share their encapsulation, which is decapsulated once. */
function remembering(userKey: UserKey): KeyOpener {
  const keys = new Map<string, Buffer>()
  return (encapsulation, bytes) => {
    const name = Buffer.from(bytes).toString('latin1')
    const known = keys.get(name)
    if (known !== undefined) return known
    if (keys.size >= maxEncapsulations)
      throw covercryptError(
        'too_large',
        `Bulk data may contain at most ${maxEncapsulations} different encapsulations.`,
      )
    const key = recoverDataKey(userKey, encapsulation)
    keys.set(name, key)
    return key
  }
}
