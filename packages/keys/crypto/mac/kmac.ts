import * as nodeCrypto from 'node:crypto'
import { createSecretKey, type KeyObject } from 'node:crypto'

/** `createMac` of Node 26, which its published types do not have yet. */
interface MacModule {
  createMac(
    name: 'kmac-256',
    key: KeyObject,
    options: { readonly outputLength: number },
  ): { update(data: Uint8Array): void; final(): Buffer }
}

/** KMAC256 (SP 800-185 §4) without a customization string. @param bytes of output */
export function kmac256(key: Uint8Array, data: Uint8Array, bytes: number): Buffer {
  const mac = (nodeCrypto as unknown as MacModule).createMac('kmac-256', createSecretKey(key), {
    outputLength: bytes,
  })
  mac.update(data)
  return mac.final()
}
