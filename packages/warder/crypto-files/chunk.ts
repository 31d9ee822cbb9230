import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type Decipheriv,
  type KeyObject,
} from 'node:crypto'
import { FileRefused } from '@warder/command-line/files'
import { type FileKeys, type Header, prefixBytes } from './header.ts'

/** Plaintext bytes of a chunk; only the last one may have fewer. */
export const chunkBytes = 1024 * 1024
export const tagBytes = 16
/**
 * Input size of one cipher call, which allocates a new buffer of this size for its output. Buffers of a whole chunk would be
 * allocated from the system each time; buffers of this size are reused.
 */
const stepBytes = 64 * 1024
/** The counter of the nonce has 32 bits: 4 PiB. */
const maxChunks = 2 ** 32

/** Encrypts and decrypts the chunks of one file. */
export interface ChunkCipher {
  /** @returns the encrypted chunk in parts, each valid until the next one is requested */
  seal(plain: Uint8Array, index: number, last: boolean): Iterable<Buffer>
  /**
   * @returns the plaintext in parts, each valid until the next one is requested
   * @throws FileRefused when it is not the chunk that was encrypted at this position of this file
   */
  open(sealed: Uint8Array, index: number, last: boolean): Iterable<Buffer>
}

/**
 * STREAM (Hoang, Reyhanitabar, Rogaway, Vizár: Online Authenticated-Encryption, 2015) over AES-256-GCM: the nonce is
 * the file's prefix, the chunk's number and a flag for the last chunk. A chunk that is missing, moved, repeated, added or
 * from another file has another nonce, header or key, and fails authentication.
 */
export function chunkCipher(header: Header, keys: FileKeys): ChunkCipher {
  const key: KeyObject = createSecretKey(keys.chunks)
  const createNonce = (index: number, last: boolean): Buffer => {
    if (index >= maxChunks) throw new FileRefused('the file is too large')
    const nonce = Buffer.alloc(12)
    header.prefix.copy(nonce)
    nonce.writeUInt32BE(index, prefixBytes)
    nonce.writeUInt8(last ? 1 : 0, 11)
    return nonce
  }
  return {
    *seal(plain, index, last) {
      const cipher = createCipheriv('aes-256-gcm', key, createNonce(index, last), { authTagLength: tagBytes })
      cipher.setAAD(header.binding)
      yield* releaseEach(runCipher(cipher, plain))
      cipher.final()
      yield cipher.getAuthTag()
    },
    open(sealed, index, last) {
      const bodyBytes = sealed.length - tagBytes
      // The last chunk is empty only if the whole file is, so that each file has exactly one encoding.
      if (bodyBytes < 0 || (bodyBytes === 0 && index > 0)) throw createTamperError(index)
      const decipher = createDecipheriv('aes-256-gcm', key, createNonce(index, last), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(header.binding)
      decipher.setAuthTag(sealed.subarray(bodyBytes))
      const plain = [...runCipher(decipher, sealed.subarray(0, bodyBytes))]
      try {
        decipher.final()
      } catch {
        for (const part of plain) part.fill(0)
        throw createTamperError(index)
      }
      return releaseEach(plain)
    },
  }
}

function* runCipher(cipher: Cipheriv | Decipheriv, bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += stepBytes) yield cipher.update(bytes.subarray(at, at + stepBytes))
}

/**
 * Releases the memory of each part when the next one is requested. Otherwise the garbage collector would run after every
 * 64 MiB of such buffers, which takes a quarter of the processor time of a large file.
 */
function* releaseEach(parts: Iterable<Buffer>): Generator<Buffer> {
  for (const part of parts) {
    yield part
    const { buffer } = part
    if (buffer instanceof ArrayBuffer && buffer.byteLength === part.length) buffer.transfer(0)
  }
}

function createTamperError(index: number): FileRefused {
  return new FileRefused(
    `the file was changed, truncated or extended, at or after its part ${index + 1}: nothing was written`,
  )
}
