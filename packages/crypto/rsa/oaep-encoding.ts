import { randomFillSync, timingSafeEqual } from 'node:crypto'
import { decryptionFailed, refuse } from '../algorithms/failure.ts'
import { digest, type HashAlgorithm, hashes } from '../algorithms/hashes.ts'
import type { OaepHash } from '../algorithms/key-managements.ts'
import { maskWith } from './mgf1.ts'

export interface OaepScheme {
  readonly hash: HashAlgorithm
  readonly maskHash: HashAlgorithm
  /** The label, P in older texts. */
  readonly label: Uint8Array
}

/**
 * EME-OAEP encoding (RFC 8017 §7.1.1 step 2), as in OpenSSL, with any hash, hash of the mask and label.
 * @param bytes length of the modulus
 * @throws invalid_input for a message that is too long
 */
export function oaepEncode(scheme: OaepScheme, message: Uint8Array, bytes: number): Buffer {
  requireShort(scheme, message, bytes)
  const { hash, maskHash, label } = scheme
  const encoded = Buffer.alloc(bytes)
  const seed = encoded.subarray(1, 1 + hash.bytes)
  const block = encoded.subarray(1 + hash.bytes)
  randomFillSync(seed)
  block.set(digest(hash, label))
  block[block.length - message.length - 1] = 1
  block.set(message, block.length - message.length)
  maskWith(maskHash, seed, block)
  maskWith(maskHash, block, seed)
  return encoded
}

/** @throws CryptoFailure invalid_input for a message that is too long for a modulus of so many bytes */
export function requireShort({ hash }: OaepScheme, message: Uint8Array, bytes: number): void {
  const most = bytes - 2 * hash.bytes - 2
  if (message.length > most)
    throw refuse(
      'invalid_input',
      `Data is too large: the maximum for this key is ${Math.max(0, most)} bytes.`,
    )
}

/** Takes the masks off, in place (RFC 8017 §7.1.2, steps 3b to 3f). @returns the data block: hash of the label, zeros, 1, message */
function unmask({ hash, maskHash }: OaepScheme, encoded: Buffer): Buffer {
  const seed = encoded.subarray(1, 1 + hash.bytes)
  const block = encoded.subarray(1 + hash.bytes)
  maskWith(maskHash, block, seed)
  maskWith(maskHash, seed, block)
  return block
}

/**
 * EME-OAEP decoding (RFC 8017 §7.1.2 step 3) of a message of any length. All checks are made without a branch or an
 * index that depends on their results, and end in one answer (Manger's attack needs two).
 * @param encoded the result of the private operation; wiped
 * @param inRange false: the ciphertext does not belong to the key, the decryption fails in any case
 * @throws decryption_failed
 */
export function oaepDecodeMessage(scheme: OaepScheme, encoded: Buffer, inRange: boolean): Buffer {
  const { hash, label } = scheme
  if (encoded.length < 2 * hash.bytes + 2) throw decryptionFailed()
  const block = unmask(scheme, encoded)
  const expected = digest(hash, label)
  // Every non-zero bit set in here is a fault.
  let wrong = (encoded[0] as number) | Number(!inRange)
  for (let at = 0; at < hash.bytes; at += 1) wrong |= (block[at] as number) ^ (expected[at] as number)
  // All ones once the separator was seen.
  let found = 0
  let start = 0
  for (let at = hash.bytes; at < block.length; at += 1) {
    const byte = block[at] as number
    const isOne = equal(byte, 1)
    const isZero = equal(byte, 0)
    wrong |= ~found & ~isOne & ~isZero
    start |= ~found & isOne & (at + 1)
    found |= isOne
  }
  wrong |= ~found
  const message = wrong === 0 ? Buffer.from(block.subarray(start)) : undefined
  encoded.fill(0)
  if (message === undefined) throw decryptionFailed()
  return message
}

/** All ones when two bytes are equal, else 0. */
function equal(left: number, right: number): number {
  return ((left ^ right) - 1) >> 31
}

interface JoseOaep extends OaepScheme {
  /** Hash of the empty label (RFC 8017 §7.1.1 step 2a). */
  readonly ofNothing: Buffer
}

/** RFC 7518 §4.3: the mask has the hash of the label, which is empty. */
export const joseOaep: Readonly<Record<OaepHash, JoseOaep>> = {
  SHA_1: toScheme(hashes.get('SHA_1') as HashAlgorithm),
  SHA_256: toScheme(hashes.get('SHA_256') as HashAlgorithm),
}

function toScheme(hash: HashAlgorithm): JoseOaep {
  const label = new Uint8Array(0)
  return { hash, maskHash: hash, label, ofNothing: digest(hash, label) }
}

/**
 * EME-OAEP decoding (RFC 8017 §7.1.2 step 3) of a content key whose size is known beforehand, empty label, MGF1 with
 * the same hash. With a known size every byte in front of the key has one right value, so that one constant-time
 * comparison replaces the search for the separator, and the outcome decides nothing but which bytes are copied: the
 * same calls run over the same lengths whether the encoding is right or wrong, and nothing is thrown.
 *
 * @param encoded the result of the private operation, as long as the modulus; wiped
 * @param instead result for a wrong encoding; its length is the size of the key. Wiped
 * @returns the encoded key, or a copy of `instead`
 */
export function oaepDecode(hash: OaepHash, encoded: Buffer, instead: Buffer): Buffer {
  const scheme = joseOaep[hash]
  const { ofNothing } = scheme
  const size = instead.length
  if (encoded.length < 2 * scheme.hash.bytes + 2 + size)
    throw new RangeError('the modulus is too short for such a key')
  const block = unmask(scheme, encoded)

  const given = Buffer.alloc(1 + block.length - size)
  given[0] = encoded[0] as number
  block.copy(given, 1, 0, block.length - size)
  const right = Buffer.alloc(given.length)
  ofNothing.copy(right, 1)
  right[right.length - 1] = 1

  const keep = -Number(timingSafeEqual(given, right))
  const decoded = block.subarray(block.length - size)
  const chosen = Buffer.alloc(size)
  for (let at = 0; at < size; at += 1)
    chosen[at] = ((decoded[at] as number) & keep) | ((instead[at] as number) & ~keep)
  encoded.fill(0)
  instead.fill(0)
  given.fill(0)
  return chosen
}
