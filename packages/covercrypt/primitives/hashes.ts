import * as nodeCrypto from 'node:crypto'
import { createHash } from 'node:crypto'
import { join } from '../bytes/writer.ts'

/** `createMac` of Node 26, which its published types do not have yet. */
interface MacModule {
  createMac(
    name: 'kmac256',
    key: Uint8Array,
    options: { readonly customization: Uint8Array; readonly outputLength: number },
  ): { update(data: Uint8Array): void; final(): Buffer }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  return first !== undefined && parts.length === 1 ? first : join(parts)
}

/** SHA3-256 (FIPS 202) over the concatenation of the parts. */
export function sha3_256(...parts: readonly Uint8Array[]): Uint8Array {
  return nodeCrypto.hash('sha3-256', concat(parts), 'buffer')
}

/** SHA3-384 (FIPS 202) over the concatenation of the parts. */
export function sha3_384(...parts: readonly Uint8Array[]): Uint8Array {
  return nodeCrypto.hash('sha3-384', concat(parts), 'buffer')
}

/** SHAKE256(secret || label), 32 bytes. */
export function deriveKey(secret: Uint8Array, label: string): Buffer {
  return createHash('shake256', { outputLength: 32 }).update(secret).update(label, 'utf8').digest()
}

/** KMAC256 (SP 800-185, not the XOF), 32 bytes. */
export function kmac256(key: Uint8Array, customisation: string, data: Uint8Array): Buffer {
  const options = { customization: Buffer.from(customisation, 'utf8'), outputLength: 32 }
  const mac = (nodeCrypto as unknown as MacModule).createMac('kmac256', key, options)
  mac.update(data)
  return mac.final()
}
