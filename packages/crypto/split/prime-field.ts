import { checkPrimeSync, randomBytes } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import type { KeyPart } from './shamir.ts'

/**
 * The smallest primes above 2^128, 2^192 and 2^256, then Mersenne primes, as a power of two and an addend. The smallest
 * one that is larger than the secret is used.
 */
const primes: readonly (readonly [power: number, added: number])[] = [
  [128, 51],
  [192, 133],
  [256, 297],
  [521, -1],
  [1279, -1],
  [2203, -1],
  [3217, -1],
  [4253, -1],
  [9689, -1],
  [11213, -1],
  [19937, -1],
]

/** Maximum bits of a prime from a client: testing it takes time. */
const maxClientPrimeBits = 1024

/** Bytes of a prime that parts may be joined with. */
const maxPrimeBytes = 2500

/**
 * The prime for a secret of so many bytes.
 * @param asked PrimeFieldSize of the request, a magnitude
 * @throws invalid_input when the requested number is not a prime, or too small, or no prime of the required
 *   size is available
 */
export function primeFor(secretBytes: number, asked: Uint8Array | undefined): bigint {
  if (asked !== undefined) {
    const prime = toBigInt(asked)
    if (prime.toString(2).length > maxClientPrimeBits || !checkPrimeSync(prime, { checks: 32 }))
      throw refuse('invalid_input', `PrimeFieldSize must be a prime of at most ${maxClientPrimeBits} bits.`)
    if (prime <= 1n << BigInt(secretBytes * 8))
      throw refuse('invalid_input', 'PrimeFieldSize is too small for the key.')
    return prime
  }
  const found = primes.find(([power, added]) => power + Math.min(0, added) >= secretBytes * 8)
  if (found === undefined) throw refuse('invalid_input', 'The key is too long for sharing in a prime field.')
  return (1n << BigInt(found[0])) + BigInt(found[1])
}

/**
 * Shamir's sharing with the secret as a whole number in GF(prime) (KMIP 2.1 §13). BigInt operations do not run in
 * constant time: if that matters, use the methods over GF(2^8) and GF(2^16).
 */
export function splitInPrimeField(
  secret: Uint8Array,
  parts: number,
  threshold: number,
  prime: bigint,
): KeyPart[] {
  const coefficients = [toBigInt(secret)]
  while (coefficients.length < threshold) coefficients.push(randomBelow(prime))
  return Array.from({ length: parts }, (_, index) => {
    const x = BigInt(index + 1)
    const value = coefficients.reduceRight((sum, coefficient) => (sum * x + coefficient) % prime, 0n)
    return { identifier: index + 1, bytes: toBytes(value, byteLength(prime)) }
  })
}

/** A part with the constant factor of its Lagrange coefficient: 1 / Π (xᵢ - xⱼ). */
interface Point {
  readonly identifier: number
  readonly value: bigint
  readonly weight: bigint
}

function toWeightedPoint({ identifier, bytes }: KeyPart, all: readonly KeyPart[], prime: bigint): Point {
  let below = 1n
  for (const other of all)
    if (other.identifier !== identifier) below = (below * BigInt(identifier - other.identifier)) % prime
  return { identifier, value: toBigInt(bytes), weight: inverse(below, prime) }
}

/** The value at `x` of the polynomial through these points (Lagrange). */
function valueAt(points: readonly Point[], x: bigint, prime: bigint): bigint {
  let sum = 0n
  for (const { identifier, value, weight } of points) {
    let coefficient = weight
    for (const other of points)
      if (other.identifier !== identifier)
        coefficient = (coefficient * (x - BigInt(other.identifier))) % prime
    sum += value * coefficient
  }
  return ((sum % prime) + prime) % prime
}

/**
 * The secret of `threshold` parts, the others being checked against it.
 * @param length bytes of the secret; undefined: as many as it needs
 * @throws failed for parts that do not belong together
 */
export function joinInPrimeField(
  parts: readonly KeyPart[],
  threshold: number,
  prime: bigint,
  length: number | undefined,
): Buffer {
  // Not known to be a prime: with another number the result is no key, and nothing worse.
  if (prime < 3n || byteLength(prime) > maxPrimeBytes) throw refuse('failed')
  if (parts.some(({ bytes }) => bytes.length > byteLength(prime) || toBigInt(bytes) >= prime))
    throw refuse('failed')
  const used = parts.slice(0, threshold)
  const points = used.map((part) => toWeightedPoint(part, used, prime))
  for (const { identifier, bytes } of parts.slice(threshold))
    if (valueAt(points, BigInt(identifier), prime) !== toBigInt(bytes)) throw refuse('failed')
  const secret = valueAt(points, 0n, prime)
  const needed = Math.max(1, Math.ceil(secret.toString(16).length / 2))
  if (length !== undefined && needed > length) throw refuse('failed')
  return toBytes(secret, length ?? needed)
}

function inverse(value: bigint, prime: bigint): bigint {
  let [low, high, left, right] = [((value % prime) + prime) % prime, prime, 1n, 0n]
  while (low > 1n) {
    const quotient = high / low
    ;[low, high, left, right] = [high - quotient * low, low, right - quotient * left, left]
  }
  return left
}

/** Uniform, by rejection. */
function randomBelow(prime: bigint): bigint {
  const bits = prime.toString(2).length
  for (;;) {
    const made = toBigInt(randomBytes(Math.ceil(bits / 8))) & ((1n << BigInt(bits)) - 1n)
    if (made < prime) return made
  }
}

export function byteLength(value: bigint): number {
  return Math.ceil(value.toString(16).length / 2)
}

export function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex') || '0'}`)
}

export function toBytes(value: bigint, length: number): Buffer {
  return Buffer.from(value.toString(16).padStart(length * 2, '0'), 'hex')
}
