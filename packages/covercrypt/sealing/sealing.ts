import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Reader } from '../bytes/reader.ts'
import { join } from '../bytes/writer.ts'
import { decapsulate } from '../encapsulation/decapsulate.ts'
import { encapsulate } from '../encapsulation/encapsulate.ts'
import { cannotOpen, type Encapsulation } from '../encapsulation/encapsulation.ts'
import { encodeEncapsulation, readEncapsulation } from '../encapsulation/encapsulation-bytes.ts'
import { CovercryptError } from '../error.ts'
import type { PublicKey, UserKey } from '../keys/key-types.ts'
import { parsePolicy } from '../policy/parse.ts'
import { encryptionRights } from '../policy/rights.ts'
import { deriveKey } from '../primitives/hashes.ts'

const dataKeyLabel = 'Covercrypt AEAD key'
const nonceBytes = 12
const tagBytes = 16

/** The AES-256-GCM key for data, and the encapsulation from which authorized users recover it. */
export interface DataKey {
  readonly key: Buffer
  readonly encapsulation: Uint8Array<ArrayBuffer>
}

/** @throws CovercryptError of the policy and of the encapsulation */
export function dataKeyFor(publicKey: PublicKey, policy: string): DataKey {
  const rights = encryptionRights(publicKey.structure, parsePolicy(policy))
  const { encapsulation, secret } = encapsulate(publicKey, rights)
  const key = deriveKey(secret, dataKeyLabel)
  secret.fill(0)
  return { key, encapsulation: encodeEncapsulation(encapsulation) }
}

/** Recovers the data key of an encapsulation. @throws CovercryptError cannot_open, too_large */
export function recoverDataKey(userKey: UserKey, encapsulation: Encapsulation): Buffer {
  const secret = decapsulate(userKey, encapsulation)
  const key = deriveKey(secret, dataKeyLabel)
  secret.fill(0)
  return key
}

/** Encapsulation, nonce (12 bytes), ciphertext of AES-256-GCM, tag (16 bytes). */
export function sealWith(
  { key, encapsulation }: DataKey,
  plaintext: Uint8Array,
  aad: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(aad)
  const ciphertext = cipher.update(plaintext)
  cipher.final()
  return join([encapsulation, nonce, ciphertext, cipher.getAuthTag()])
}

/**
 * Encrypts data for the users that the policy allows. @throws CovercryptError of the policy and of the encapsulation
 */
export function seal(
  publicKey: PublicKey,
  policy: string,
  plaintext: Uint8Array,
  aad: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const dataKey = dataKeyFor(publicKey, policy)
  try {
    return sealWith(dataKey, plaintext, aad)
  } finally {
    dataKey.key.fill(0)
  }
}

/**
 * Returns the data key of an encapsulation: `recoverDataKey` with a user key, or a function that caches it for
 * several items.
 */
export type KeyOpener = (encapsulation: Encapsulation, bytes: Uint8Array) => Buffer

export const opensWith =
  (userKey: UserKey): KeyOpener =>
  (encapsulation) =>
    recoverDataKey(userKey, encapsulation)

/**
 * Decrypts the result of `seal`. Malformed, altered and unauthorized ciphertexts fail with the same error.
 *
 * @throws CovercryptError cannot_open, too_large
 */
export function open(keyOf: KeyOpener, sealed: Uint8Array, aad: Uint8Array): Buffer {
  const reader = new Reader(sealed, 'ciphertext')
  const encapsulation = readable(() => readEncapsulation(reader))
  if (reader.left < nonceBytes + tagBytes) throw cannotOpen()
  const key = keyOf(encapsulation, reader.since(0))
  const nonce = reader.take(nonceBytes)
  const ciphertext = reader.take(reader.left - tagBytes)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
  decipher.setAuthTag(reader.take(tagBytes))
  decipher.setAAD(aad)
  const plaintext = decipher.update(ciphertext)
  try {
    decipher.final()
  } catch {
    plaintext.fill(0)
    throw cannotOpen()
  }
  return plaintext
}

function readable<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof CovercryptError && error.code === 'malformed') throw cannotOpen()
    throw error
  }
}
