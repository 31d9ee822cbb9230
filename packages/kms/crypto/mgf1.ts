import { hash as digestOf } from 'node:crypto'
import type { HashAlgorithm } from './hashes.ts'

/** target ^= MGF1(seed) (RFC 8017 §B.2.1). */
export function maskWith(hash: HashAlgorithm, seed: Uint8Array, target: Uint8Array): void {
  const input = Buffer.alloc(seed.length + 4)
  input.set(seed)
  for (let start = 0, counter = 0; start < target.length; start += hash.bytes, counter += 1) {
    input.writeUInt32BE(counter, seed.length)
    const mask = digestOf(hash.node, input, 'buffer')
    const end = Math.min(hash.bytes, target.length - start)
    for (let at = 0; at < end; at += 1)
      target[start + at] = (target[start + at] as number) ^ (mask[at] as number)
    mask.fill(0)
  }
  input.fill(0)
}
