import {
  covercryptError,
  decodeBulkSealRequest,
  decodeItems,
  decodeSealRequest,
  eachItem,
  encodeItems,
  encodeSealRequest,
  open,
  openMany,
  opensWith,
  type PublicKey,
  seal,
  sealMany,
  type UserKey,
} from '@warder/covercrypt'
import type { AbeJob, Framing, Sealed } from './jobs.ts'

/** Prefix of data with several whole requests. */
const severalPrefix = 0x87
const prefixBytes = 2
/** Whole requests in one; each has an encapsulation of its own. */
const maxRequests = 256

/** Policy and plaintext as passed to the thread. */
export function sealRequest(policy: string, plaintext: Uint8Array): Uint8Array {
  return encodeSealRequest({ policy, plaintext })
}

/** How a request of KMIP frames its data: the prefix of several whole requests counts before anything else. */
export function readFraming(data: Uint8Array, algorithm: string | undefined): Framing {
  if (data[0] === severalPrefix && data[1] === severalPrefix) return 'several'
  return algorithm === 'CoverCryptBulk' ? 'bulk' : 'single'
}

/**
 * Number of items in the data; undefined: the data are not framed as items. @throws CovercryptError malformed,
 * too_large
 */
export function countItems(type: 'seal' | 'open', framing: Framing, data: Uint8Array): number | undefined {
  if (framing === 'single') return undefined
  if (framing === 'several') return requestsIn(data).length
  return (type === 'seal' ? decodeBulkSealRequest(data).plaintexts : decodeItems(data)).length
}

/** The whole requests in data of the framing `several`. @throws CovercryptError malformed, too_large */
function requestsIn(data: Uint8Array): readonly Uint8Array[] {
  const items = decodeItems(data.subarray(prefixBytes))
  if (items.length > maxRequests)
    throw covercryptError('too_large', `Bulk data may contain at most ${maxRequests} complete requests.`)
  return items
}

/** Frames the output of `encodeItems` as data of the framing `several`. */
function asSeveral(items: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(severalPrefix, severalPrefix), items])
}

type DataJob<Type extends 'seal' | 'open'> = Pick<Extract<AbeJob, { type: Type }>, 'framing' | 'data' | 'aad'>

/** @throws CovercryptError */
export function sealData(key: PublicKey, { framing, data, aad }: DataJob<'seal'>): Sealed {
  if (framing === 'several') {
    const requests = eachItem(requestsIn(data), decodeSealRequest)
    const items = eachItem(requests, ({ policy, plaintext }) => seal(key, policy, plaintext, aad))
    return { data: asSeveral(encodeItems(items)), policies: requests.map(({ policy }) => policy) }
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
  if (framing === 'several')
    return asSeveral(encodeItems(eachItem(requestsIn(data), (one) => open(opensWith(key), one, aad))))
  return framing === 'bulk' ? openMany(key, data, aad) : open(opensWith(key), data, aad)
}
