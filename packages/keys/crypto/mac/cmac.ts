import type { KeyObject } from 'node:crypto'
import * as nodeCrypto from 'node:crypto'

/** `createMac` of Node 26, which its published types do not have yet. */
interface MacModule {
  createMac(
    name: 'cmac',
    key: KeyObject,
    options: { readonly cipher: string },
  ): { update(data: Uint8Array): void; final(): Buffer }
}

/** CMAC (SP 800-38B) of `data`. @param cipher OpenSSL's name of the block cipher in CBC mode */
export function computeCmac(cipher: string, key: KeyObject, data: Uint8Array): Buffer {
  const mac = (nodeCrypto as unknown as MacModule).createMac('cmac', key, { cipher })
  mac.update(data)
  return mac.final()
}
