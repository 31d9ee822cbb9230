import { timingSafeEqual } from 'node:crypto'
import { digest, type HashAlgorithm, hashes } from '../algorithms/hashes.ts'
import type { OaepHash } from '../algorithms/rsa-encryptions.ts'
import { type OaepScheme, unmask } from './oaep-encoding.ts'

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
 * @param instead what to return when the encoding is wrong; its length is the size of the key. Wiped
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
