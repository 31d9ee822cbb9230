/** A small generator of pseudo-random whole numbers (xorshift32): the same seed yields the same numbers. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const interesting = [0, 1, 7, 8, 0x42, 0x54, 0x7f, 0x80, 0xfe, 0xff]

/** One to four changes of the kind that break decoders: bits, bytes, lengths, pieces cut, doubled or swapped in. */
export function mutate(bytes: Uint8Array, next: (below: number) => number): Uint8Array {
  let result = Uint8Array.from(bytes)
  for (let change = 1 + next(4); change > 0 && result.length > 0; change--) {
    const at = next(result.length)
    switch (next(7)) {
      case 0:
        result[at] = (result[at] ?? 0) ^ (1 << next(8))
        break
      case 1:
        result[at] = interesting[next(interesting.length)] ?? 0
        break
      case 2:
        result.fill(0xff, at, at + 1 + next(8))
        break
      case 3:
        result = result.slice(0, at)
        break
      case 4:
        result = concat(result.subarray(0, at), result.subarray(Math.min(result.length, at + 1 + next(24))))
        break
      case 5:
        result = concat(result.subarray(0, at), result.subarray(next(result.length)))
        break
      default: {
        const aligned = at & ~7
        const size = 8 * (1 + next(8))
        result = concat(result.subarray(0, aligned + size), result.subarray(aligned))
      }
    }
  }
  return result
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}
