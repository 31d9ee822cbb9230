import { type KeyObject, sign, verify } from 'node:crypto'

/** ES256 (RFC 7518 §3.4): the raw r‖s, 64 bytes. In place: a P-256 signature costs less than a thread hand-over. */
export function es256Sign(key: KeyObject, data: Uint8Array): Buffer {
  return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
}

/** true when `signature` is a raw r‖s of 64 bytes over `data`; anything else is false. */
export function es256Verify(key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  return signature.length === 64 && verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
}
