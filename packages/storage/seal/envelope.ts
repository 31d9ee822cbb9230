import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto'

/** Identifies a sealed value. It is the additional data of the encryption, so values cannot be swapped between rows. */
export interface SealContext {
  readonly table: string
  readonly row: string
  readonly column: string
}

/**
 * Envelope encryption of everything secret at rest: AES-256-GCM under a data key that is wrapped by the root key.
 * Sealed bytes: version (1) | data key id (16) | IV (12) | ciphertext | tag (16).
 */
export interface Seal {
  seal(place: SealContext, bytes: Uint8Array): Uint8Array
  /**
   * Rejects when the bytes were not sealed for this context, or by this root key.
   * @throws UnknownDataKey when there is no such data key now
   */
  open(place: SealContext, sealed: Uint8Array): Promise<Uint8Array>
}

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

/**
 * Encodes the context as additional data: each part preceded by its length, so that no two contexts have the
 * same encoding.
 */
export function encodeContext(service: string, context: SealContext): Buffer {
  const parts = [service, context.table, context.row, context.column].flatMap((part) => {
    const bytes = Buffer.from(part, 'utf8')
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return [length, bytes]
  })
  return Buffer.concat(parts)
}

/** The parts of an encoded context, of whatever bytes: the service, the table, the row and the column. */
export function decodeContext(context: Uint8Array): readonly string[] {
  const bytes = Buffer.from(context.buffer, context.byteOffset, context.byteLength)
  const parts: string[] = []
  for (let at = 0; at + 4 <= bytes.length && parts.length < 4; ) {
    const length = bytes.readUInt32BE(at)
    parts.push(bytes.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  return parts
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
