import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** HMAC (RFC 2104) over `data`; the whole tag. @param hash node's name */
export function hmacCompute(hash: string, key: KeyObject, data: Uint8Array): Buffer {
  return createHmac(hash, key).update(data).digest()
}

/** Compares in constant time; the length is no secret. */
export function sameTag(expected: Uint8Array, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given)
}
