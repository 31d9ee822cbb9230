import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import { nextIv } from './iv-pool.ts'

const tagLength = 16
const ivLength = 12
const options = { authTagLength: tagLength } as const

export interface GcmSealed {
  readonly iv: Buffer
  readonly ciphertext: Buffer
  readonly tag: Buffer
}

/** AES-GCM (SP 800-38D) with a fresh random 96-bit IV and a 128-bit tag; the key's length chooses 128, 192 or 256. */
export function gcmEncrypt(key: KeyObject, plaintext: Uint8Array, aad: Uint8Array): GcmSealed {
  const iv = nextIv()
  const cipher = createCipheriv(nameFor(key), key, iv, options)
  cipher.setAAD(aad)
  const ciphertext = cipher.update(plaintext)
  cipher.final()
  return { iv, ciphertext, tag: cipher.getAuthTag() }
}

/** Opens what `gcmEncrypt` sealed. Every failure, a wrong IV or tag length too, is the one `decryption_failed`. */
export function gcmDecrypt(
  key: KeyObject,
  sealed: { readonly iv: Uint8Array; readonly ciphertext: Uint8Array; readonly tag: Uint8Array },
  aad: Uint8Array,
): Buffer {
  const name = nameFor(key)
  if (sealed.iv.length !== ivLength || sealed.tag.length !== tagLength) throw failure('decryption_failed')
  const decipher = createDecipheriv(name, key, sealed.iv, options)
  decipher.setAAD(aad)
  decipher.setAuthTag(sealed.tag)
  const plaintext = decipher.update(sealed.ciphertext)
  try {
    decipher.final()
  } catch {
    plaintext.fill(0)
    throw failure('decryption_failed')
  }
  return plaintext
}

function nameFor(key: KeyObject): 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm' {
  switch (key.symmetricKeySize) {
    case 16:
      return 'aes-128-gcm'
    case 24:
      return 'aes-192-gcm'
    case 32:
      return 'aes-256-gcm'
    default:
      throw failure('crypto_failure', 'The key is not an AES key.')
  }
}
