import { covercryptError } from '@warder/covercrypt/error'
import { decodeBulkSealRequest, decodeItems, decodeSealRequest, encodeItems } from '@warder/covercrypt/frames'
import type { PublicKey, UserKey } from '@warder/covercrypt/keys'
import { open, openMany, opensWith, seal, sealMany } from '@warder/covercrypt/sealing'
import type { AbeJob, Sealed } from './jobs.ts'

type DataJob<Type extends 'seal' | 'open'> = Pick<Extract<AbeJob, { type: Type }>, 'framing' | 'data' | 'aad'>

/** At the beginning of data that hold several whole requests. Looked for before anything else. */
const severalPrefix = 0x87
const prefixBytes = 2
/** Whole requests in one; each has an encapsulation of its own. */
const maxRequests = 256

function isSeveral(data: Uint8Array): boolean {
  return data[0] === severalPrefix && data[1] === severalPrefix
}

/** @throws CovercryptError */
export function sealData(key: PublicKey, { framing, data, aad }: DataJob<'seal'>): Sealed {
  if (isSeveral(data)) {
    const requests = requestsIn(data).map((one) => decodeSealRequest(one))
    const items = requests.map(({ policy, plaintext }) => seal(key, policy, plaintext, aad))
    return { data: joined(items), policies: requests.map(({ policy }) => policy) }
  }
  if (framing === 'bulk') {
    const request = decodeBulkSealRequest(data)
    return { data: sealMany(key, request, aad), policies: [request.policy] }
  }
  const { policy, plaintext } = decodeSealRequest(data)
  return { data: seal(key, policy, plaintext, aad), policies: [policy] }
}

/** @throws CovercryptError */
export function openData(key: UserKey, { framing, data, aad }: DataJob<'open'>): Uint8Array {
  if (isSeveral(data)) return joined(requestsIn(data).map((one) => open(opensWith(key), one, aad)))
  return framing === 'bulk' ? openMany(key, data, aad) : open(opensWith(key), data, aad)
}

function requestsIn(data: Uint8Array): readonly Uint8Array[] {
  const items = decodeItems(data.subarray(prefixBytes))
  if (items.length > maxRequests)
    throw covercryptError('too_large', `Bulk data hold at most ${maxRequests} whole requests.`)
  return items
}

function joined(items: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([Uint8Array.of(severalPrefix, severalPrefix), encodeItems(items)])
}
