import type { KeyObject } from 'node:crypto'
import { additionalData, openWith, sealWith } from './envelope.ts'
import type { SealedPlace } from './types.ts'

const text = Buffer.from('warder root key check v1')
const place: SealedPlace = { table: 'root_key', row: 'root', column: 'check_value' }

/** Id of values that the service key seals itself: check value and data keys. */
export const noId = Buffer.alloc(16)

/** A value that only this service key opens: by it a wrong root key is known before anything is read or written. */
export function makeCheckValue(key: KeyObject, service: string): Buffer {
  return sealWith(key, noId, additionalData(service, place), text)
}

export function fitsCheckValue(key: KeyObject, service: string, checkValue: Uint8Array): boolean {
  try {
    openWith(key, additionalData(service, place), checkValue)
    return true
  } catch {
    return false
  }
}
