import { hash as digest, timingSafeEqual } from 'node:crypto'
import type { OaepHash } from '../algorithms/algorithms.ts'
import { type MaskHash, maskWith } from './mgf1.ts'

interface Digest extends MaskHash {
  /** Hash of the empty label (RFC 8017 §7.1.1 step 2a). */
  readonly ofNothing: Buffer
}

const digests: Readonly<Record<OaepHash, Digest>> = {
  'SHA-1': { node: 'sha1', bytes: 20, ofNothing: digest('sha1', '', 'buffer') },
  'SHA-256': { node: 'sha256', bytes: 32, ofNothing: digest('sha256', '', 'buffer') },
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
  const algorithm = digests[hash]
  const { bytes, ofNothing } = algorithm
  const size = instead.length
  const seed = encoded.subarray(1, 1 + bytes)
  const block = encoded.subarray(1 + bytes)
  if (block.length < bytes + 1 + size) throw new RangeError('the modulus is too short for such a key')
  maskWith(algorithm, block, seed)
  maskWith(algorithm, seed, block)

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
