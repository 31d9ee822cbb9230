import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { join, Reader } from './bytes.ts'
import {
  cannotOpen,
  decapsulate,
  type Encapsulation,
  encapsulate,
  encodeEncapsulation,
  readEncapsulation,
} from './encapsulation.ts'
import { CovercryptError, covercryptError, eachItem } from './error.ts'
import { type BulkSealRequest, decodeItems, encodeItems } from './frames.ts'
import type { PublicKey, UserKey } from './keys.ts'
import { encryptionRights, parsePolicy } from './policy.ts'
import { deriveKey } from './primitives.ts'

const dataKeyLabel = 'Covercrypt AEAD key'
const nonceBytes = 12
const tagBytes = 16

/** The AES-256-GCM key for data, and the encapsulation from which authorized users recover it. */
interface DataKey {
  readonly key: Buffer
  readonly encapsulation: Uint8Array<ArrayBuffer>
}

/** @throws CovercryptError of the policy and of the encapsulation */
function dataKeyFor(publicKey: PublicKey, policy: string): DataKey {
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
function sealWith(
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
type KeyOpener = (encapsulation: Encapsulation, bytes: Uint8Array) => Buffer

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

/** Maximum number of different encapsulations in a request. */
const maxEncapsulations = 256

/** One encapsulation for all items, repeated in each; a nonce for each. */
export function sealMany(
  publicKey: PublicKey,
  { policy, plaintexts }: BulkSealRequest,
  aad: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const dataKey = dataKeyFor(publicKey, policy)
  try {
    return encodeItems(eachItem(plaintexts, (plaintext) => sealWith(dataKey, plaintext, aad)))
  } finally {
    dataKey.key.fill(0)
  }
}

/**
 * Decrypts all items, or fails.
 *
 * @throws CovercryptError cannot_open, malformed (the frames), too_large
 */
export function openMany(userKey: UserKey, data: Uint8Array, aad: Uint8Array): Uint8Array<ArrayBuffer> {
  const findKey = remembering(userKey)
  const plaintexts = eachItem(decodeItems(data), (item) => open(findKey, item, aad))
  const reply = encodeItems(plaintexts)
  for (const plaintext of plaintexts) plaintext.fill(0)
  return reply
}

/** Items that were encrypted together share their encapsulation, which is decapsulated once. */
function remembering(userKey: UserKey): KeyOpener {
  const keys = new Map<string, Buffer>()
  return (encapsulation, bytes) => {
    const name = Buffer.from(bytes).toString('latin1')
    const known = keys.get(name)
    if (known !== undefined) return known
    if (keys.size >= maxEncapsulations)
      throw covercryptError(
        'too_large',
        `Bulk data may contain at most ${maxEncapsulations} different encapsulations.`,
      )
    const key = recoverDataKey(userKey, encapsulation)
    keys.set(name, key)
    return key
  }
}
