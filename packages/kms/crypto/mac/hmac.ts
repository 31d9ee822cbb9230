import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** HMAC (RFC 2104) over `data`; the whole tag. @param hash node's name */
export function hmacCompute(hash: string, key: KeyObject, data: Uint8Array): Buffer {
  return createHmac(hash, key).update(data).digest()
}

/** The same in base64url: node makes the text in two thirds of the time of a buffer. */
export function hmacText(hash: string, key: KeyObject, data: Uint8Array): string {
  return createHmac(hash, key).update(data).digest('base64url')
}

/** true when `tag` is the HMAC of `data`; a tag of another length is false. Compared in constant time. */
export function hmacVerify(hash: string, key: KeyObject, data: Uint8Array, tag: Uint8Array): boolean {
  return sameTag(hmacCompute(hash, key, data), tag)
}

/** Compares in constant time; the length is no secret. */
export function sameTag(expected: Uint8Array, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given)
}
