/**
 * Conversion of the numbers of keys between bytes and bigint. Not constant-time: used when a key is imported, never
 * when it is used.
 */

export function toNumber(magnitude: Uint8Array): bigint {
  return magnitude.length === 0 ? 0n : BigInt(`0x${Buffer.from(magnitude).toString('hex')}`)
}

/** Encodes big-endian without sign and leading zeros, or padded to `length`. */
export function toMagnitude(number: bigint, length = 0): Buffer {
  const hex = number.toString(16)
  return Buffer.from(hex.padStart(Math.max(hex.length + (hex.length % 2), length * 2), '0'), 'hex')
}

export function bitLength(number: bigint): number {
  return number === 0n ? 0 : number.toString(2).length
}

/** Returns x with a·x = 1 mod m; undefined when there is none. */
export function inverse(a: bigint, m: bigint): bigint | undefined {
  let [r0, r1] = [m, ((a % m) + m) % m]
  let [t0, t1] = [0n, 1n]
  while (r1 !== 0n) {
    const quotient = r0 / r1
    ;[r0, r1] = [r1, r0 - quotient * r1]
    ;[t0, t1] = [t1, t0 - quotient * t1]
  }
  return r0 === 1n ? ((t0 % m) + m) % m : undefined
}

export function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

/** Returns the root of a perfect square; undefined for other numbers. */
export function squareRoot(square: bigint): bigint | undefined {
  if (square < 0n) return undefined
  if (square < 2n) return square
  let root = 1n << BigInt(Math.ceil(bitLength(square) / 2))
  for (;;) {
    const next = (root + square / root) >> 1n
    if (next >= root) break
    root = next
  }
  return root * root === square ? root : undefined
}
