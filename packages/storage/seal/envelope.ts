import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto'
import type { SealContext } from './types.ts'

/** The data key of a sealed value is not in the database, or not under this process's root key. It may come to be. */
export class UnknownDataKey extends Error {
  constructor(detail: string) {
    super(detail)
    this.name = 'UnknownDataKey'
  }
}

const version = 1
const idBytes = 16
const ivBytes = 12
const tagBytes = 16
const overheadBytes = 1 + idBytes + ivBytes + tagBytes

const pool = Buffer.alloc(ivBytes * 512)
let used = pool.length

/** 96 random bits (SP 800-38D §8.2.2) from a block that is drawn at once. */
function nextIv(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const iv = Buffer.from(pool.subarray(used, used + ivBytes))
  used += ivBytes
  return iv
}

/** Encodes the context as additional data: each part behind its length, so that no two contexts have the same encoding. */
export function encodeContext(service: string, context: SealContext): Buffer {
  const parts = [service, context.table, context.row, context.column].flatMap((part) => {
    const bytes = Buffer.from(part, 'utf8')
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return [length, bytes]
  })
  return Buffer.concat(parts)
}

/** version (1) | data key id (16) | IV (12) | ciphertext | tag (16), AES-256-GCM. */
export function sealWith(key: KeyObject, id: Uint8Array, aad: Uint8Array, bytes: Uint8Array): Buffer {
  const iv = nextIv()
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  // The header is authenticated too.
  cipher.setAAD(Buffer.concat([Buffer.from([version]), id, aad]))
  const ciphertext = cipher.update(bytes)
  cipher.final()
  return Buffer.concat([Buffer.from([version]), id, iv, ciphertext, cipher.getAuthTag()])
}

/** The data key id of a sealed value; undefined when Warder did not seal it. */
export function readDataKeyId(sealed: Uint8Array): string | undefined {
  if (sealed.length < overheadBytes || sealed[0] !== version) return undefined
  return Buffer.from(sealed.buffer, sealed.byteOffset + 1, idBytes).toString('hex')
}

/** @throws when it was sealed by another key, for another context, or was changed */
export function openWith(key: KeyObject | Uint8Array, aad: Uint8Array, sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const ivAt = 1 + idBytes
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(ivAt, ivAt + ivBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(Buffer.concat([bytes.subarray(0, ivAt), aad]))
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes))
  const plain = decipher.update(bytes.subarray(ivAt + ivBytes, bytes.length - tagBytes))
  decipher.final()
  return plain
}
