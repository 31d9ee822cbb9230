import {
  decodeBulkSealRequest,
  decodeSealRequest,
  eachItem,
  encodeItems,
  open,
  openMany,
  opensWith,
  type PublicKey,
  seal,
  sealMany,
  type UserKey,
} from '@warder/covercrypt'
import type { AbeJob, Sealed } from './jobs.ts'
import { asSeveral, requestsIn } from './request.ts'

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
