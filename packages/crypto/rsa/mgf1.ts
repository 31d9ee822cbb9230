import { hash as digestOf } from 'node:crypto'

/** A hash by node's name, and how many bytes it makes. */
export interface MaskHash {
  readonly node: string
  readonly bytes: number
}

/**
 * Buffer in which a mask is made; wiped after each. Kept, because node turns every small buffer that it hashes, and
 * every digest that it returns as a buffer, into a large object: with those, making a mask costs four times as much.
 */
let input = Buffer.alloc(1024)
let mask = Buffer.alloc(1024)

/** target ^= MGF1(seed) (RFC 8017 §B.2.1). */
export function maskWith(hash: MaskHash, seed: Uint8Array, target: Uint8Array): void {
  const inputBytes = seed.length + 4
  if (input.length < inputBytes) input = Buffer.alloc(inputBytes)
  if (mask.length < target.length) mask = Buffer.alloc(target.length)
  input.set(seed)
  const hashed = input.subarray(0, inputBytes)
  for (let start = 0, counter = 0; start < target.length; start += hash.bytes, counter += 1) {
    input.writeUInt32BE(counter, seed.length)
    // Strings cannot be wiped, but a mask reveals nothing without the masked data.
    mask.write(digestOf(hash.node, hashed, 'latin1'), start, 'latin1')
  }
  for (let at = 0; at < target.length; at += 1) target[at] = (target[at] as number) ^ (mask[at] as number)
  input.fill(0, 0, inputBytes)
  mask.fill(0, 0, target.length)
}
