import type { KeyObject } from 'node:crypto'
import { encodeContext, openWith, sealWith } from './envelope.ts'
import type { SealContext } from './types.ts'

const text = Buffer.from('warder root key check v1')
const context: SealContext = { table: 'root_key', row: 'root', column: 'check_value' }

/** Id of values that the service key seals itself: check value and data keys. */
export const noId = Buffer.alloc(16)

/** A value that only this service key opens: it reveals a wrong root key before anything is read or written. */
export function makeCheckValue(key: KeyObject, service: string): Buffer {
  return sealWith(key, noId, encodeContext(service, context), text)
}

export function opensCheckValue(key: KeyObject, service: string, checkValue: Uint8Array): boolean {
  try {
    openWith(key, encodeContext(service, context), checkValue)
    return true
  } catch {
    return false
  }
}
