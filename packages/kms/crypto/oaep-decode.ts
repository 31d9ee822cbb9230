import { hash as digest, timingSafeEqual } from 'node:crypto'

export type OaepHash = 'SHA-1' | 'SHA-256'

interface Digest {
  readonly name: 'sha1' | 'sha256'
  readonly bytes: number
  /** Hash of the empty label (RFC 8017 §7.1.1 step 2a). */
  readonly ofNothing: Buffer
}

const digests: Readonly<Record<OaepHash, Digest>> = {
  'SHA-1': { name: 'sha1', bytes: 20, ofNothing: digest('sha1', '', 'buffer') },
  'SHA-256': { name: 'sha256', bytes: 32, ofNothing: digest('sha256', '', 'buffer') },
}

interface Scratch {
  /** The longest modulus that it is for. */
  readonly bytes: number
  readonly input: Buffer
  readonly mask: Buffer
  readonly given: Buffer
  readonly right: Buffer
}

/**
 * What one decoding works with; wiped after each. Kept, because node turns every small buffer that it hashes into a
 * large object: with buffers of its own a decoding costs four times as much.
 */
let scratch = scratchOf(512)

function scratchOf(bytes: number): Scratch {
  const buffer = (): Buffer => Buffer.alloc(bytes + 4)
  return { bytes, input: buffer(), mask: buffer(), given: buffer(), right: buffer() }
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
  const { name, bytes, ofNothing } = digests[hash]
  const size = instead.length
  const block = 1 + bytes
  const key = encoded.length - size
  if (key < block + bytes + 1) throw new RangeError('the modulus is too short for such a key')
  if (encoded.length > scratch.bytes) scratch = scratchOf(encoded.length)
  const { input, mask, given, right } = scratch
  unmask(name, bytes, encoded, [block, encoded.length], [1, block])
  unmask(name, bytes, encoded, [1, block], [block, encoded.length])

  // In front of the key: 00, the seed, which may be anything, then the label's hash, zeros, and 01.
  const front = 1 + key - block
  given[0] = encoded[0] as number
  encoded.copy(given, 1, block, key)
  right.fill(0, 0, front)
  ofNothing.copy(right, 1)
  right[front - 1] = 1
  const keep = -Number(timingSafeEqual(given.subarray(0, front), right.subarray(0, front)))
  const chosen = Buffer.alloc(size)
  for (let at = 0; at < size; at += 1)
    chosen[at] = ((encoded[key + at] as number) & keep) | ((instead[at] as number) & ~keep)
  for (const used of [encoded, instead, given, mask, input]) used.fill(0)
  return chosen
}

type Range = readonly [start: number, end: number]

/** target ^= MGF1(from) (RFC 8017 §B.2.1), both of them parts of `encoded`. */
function unmask(name: Digest['name'], bytes: number, encoded: Buffer, from: Range, target: Range): void {
  const { input, mask } = scratch
  const seedBytes = encoded.copy(input, 0, from[0], from[1])
  const hashed = input.subarray(0, seedBytes + 4)
  const [start, end] = target
  for (let done = 0, counter = 0; done < end - start; done += bytes, counter += 1) {
    input.writeUInt32BE(counter, seedBytes)
    // As text, which node makes in a third of the time of a buffer. A mask without what it covers says nothing.
    mask.write(digest(name, hashed, 'latin1'), done, 'latin1')
  }
  for (let at = start; at < end; at += 1) encoded[at] = (encoded[at] as number) ^ (mask[at - start] as number)
}
