import { createECDH, generateKeyPairSync } from 'node:crypto'
import { derContent, derElements, derIdentifier, derMagnitude, derMembers, derTag } from '@warder/pki'
import { notSupported } from '../algorithms/failure.ts'

/** The numbers of a curve y² = x³ + ax + b over a prime field. */
export interface CurveNumbers {
  /** Prime of the field. */
  readonly p: bigint
  /** Order of the base point, a prime. The cofactor is 1. */
  readonly n: bigint
  /** Bits of `n`. */
  readonly orderBits: number
  /** Bytes of a coordinate. */
  readonly fieldBytes: number
}

export interface Point {
  readonly x: bigint
  readonly y: bigint
}

/** X9.62: prime-field. */
const primeField = '1.2.840.10045.1.1'
/** At most one entry for each curve that OpenSSL has. */
const known = new Map<string, CurveNumbers>()

/**
 * The numbers of a named curve, as OpenSSL writes them (SEC 1 §C.2, SpecifiedECDomain).
 * @param name OpenSSL's name of the curve
 * @throws CryptoFailure unsupported for a curve over a binary field, or with a cofactor
 */
export function curveNumbers(name: string): CurveNumbers {
  const before = known.get(name)
  if (before !== undefined) return before
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: name, paramEncoding: 'explicit' })
  const what = 'the curve'
  const [algorithm] = derMembers(publicKey.export({ format: 'der', type: 'spki' }), what)
  const [, domain] = derElements(derContent(algorithm, derTag.sequence, what), what)
  const [, field, , , order, cofactor] = derElements(derContent(domain, derTag.sequence, what), what)
  const [fieldType, prime] = derElements(derContent(field, derTag.sequence, what), what)
  if (derIdentifier(fieldType, what) !== primeField || toBigInt(derMagnitude(cofactor, what)) !== 1n)
    throw notSupported(`DigestedData is not supported for keys on the curve ${name}.`)
  const p = derMagnitude(prime, what)
  const n = toBigInt(derMagnitude(order, what))
  const numbers = { p: toBigInt(p), n, orderBits: n.toString(2).length, fieldBytes: p.length }
  known.set(name, numbers)
  return numbers
}

/** An uncompressed point (SEC 1 §2.3.4). */
export function decodePoint(bytes: Uint8Array): Point {
  const half = (bytes.length - 1) / 2
  return { x: toBigInt(bytes.subarray(1, 1 + half)), y: toBigInt(bytes.subarray(1 + half)) }
}

/** scalar·G, computed by OpenSSL in constant time. @param scalar 1 to n - 1, big-endian */
export function timesBase(name: string, scalar: Uint8Array): Point {
  const ecdh = createECDH(name)
  ecdh.setPrivateKey(scalar)
  return decodePoint(ecdh.getPublicKey())
}

/** One public point plus another; undefined if the sum takes another formula: their x are the same. */
export function sum({ p }: CurveNumbers, one: Point, other: Point): Point | undefined {
  if (one.x === other.x) return undefined
  const slope = modulo((other.y - one.y) * inverse(modulo(other.x - one.x, p), p), p)
  const x = modulo(slope * slope - one.x - other.x, p)
  return { x, y: modulo(slope * (one.x - x) - one.y, p) }
}

/** 1/value modulo a prime, by Euclid's algorithm: its time depends on `value`. */
export function inverse(value: bigint, prime: bigint): bigint {
  let [low, high, lowFactor, highFactor] = [value, prime, 1n, 0n]
  while (low > 1n) {
    const quotient = high / low
    ;[low, high] = [high - quotient * low, low]
    ;[lowFactor, highFactor] = [highFactor - quotient * lowFactor, lowFactor]
  }
  return modulo(lowFactor, prime)
}

export function modulo(value: bigint, by: bigint): bigint {
  const rest = value % by
  return rest < 0n ? rest + by : rest
}

export function toBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

/** @param length in bytes; the number fits */
export function toBytes(number: bigint, length: number): Buffer {
  return Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex')
}
