import {
  createECDH,
  createPublicKey,
  ECDH,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  verify,
} from 'node:crypto'
import {
  derBitString,
  derBits,
  derContent,
  derElements,
  derIdentifier,
  derInteger,
  derMagnitude,
  derMembers,
  derSequence,
  derTag,
} from '@warder/pki'
import { notSupported } from '../algorithms/failure.ts'

/** The numbers of a curve y² = x³ + ax + b over a prime field. */
interface CurveNumbers {
  /** Prime of the field. */
  readonly p: bigint
  /** Order of the base point, a prime. The cofactor is 1. */
  readonly n: bigint
  /** Bits of `n`. */
  readonly orderBits: number
  /** Bytes of a coordinate. */
  readonly fieldBytes: number
}

interface Point {
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
function curveNumbers(name: string): CurveNumbers {
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
function decodePoint(bytes: Uint8Array): Point {
  const half = (bytes.length - 1) / 2
  return { x: toBigInt(bytes.subarray(1, 1 + half)), y: toBigInt(bytes.subarray(1 + half)) }
}

/** scalar·G, computed by OpenSSL in constant time. @param scalar 1 to n - 1, big-endian */
function timesBase(name: string, scalar: Uint8Array): Point {
  const ecdh = createECDH(name)
  ecdh.setPrivateKey(scalar)
  return decodePoint(ecdh.getPublicKey())
}

/** One public point plus another; undefined if the sum needs another formula: their x are the same. */
function sum({ p }: CurveNumbers, one: Point, other: Point): Point | undefined {
  if (one.x === other.x) return undefined
  const slope = modulo((other.y - one.y) * inverse(modulo(other.x - one.x, p), p), p)
  const x = modulo(slope * slope - one.x - other.x, p)
  return { x, y: modulo(slope * (one.x - x) - one.y, p) }
}

/** 1/value modulo a prime, by Euclid's algorithm: its time depends on `value`. */
function inverse(value: bigint, prime: bigint): bigint {
  let [low, high, lowFactor, highFactor] = [value, prime, 1n, 0n]
  while (low > 1n) {
    const quotient = high / low
    ;[low, high] = [high - quotient * low, low]
    ;[lowFactor, highFactor] = [highFactor - quotient * lowFactor, lowFactor]
  }
  return modulo(lowFactor, prime)
}

function modulo(value: bigint, by: bigint): bigint {
  const rest = value % by
  return rest < 0n ? rest + by : rest
}

function toBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

/** @param length in bytes; the number fits */
function toBytes(number: bigint, length: number): Buffer {
  return Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex')
}

// ECDSA over a digest that the client made (FIPS 186-5 §6.4). Node offers ECDSA over data only, so the arithmetic modulo
// the order of the curve is done here; every multiplication of a point is OpenSSL's. docs/adr/ecdsa-over-digests.md has
// the reasons.

/**
 * Signs a digest. The nonce comes from OpenSSL's generator of keys. Every number that is computed from the nonce or the
 * private key is multiplied by a fresh random number first, so that the timing reveals nothing about them.
 * @returns the signature in DER
 * @throws CryptoFailure unsupported for curves over a binary field
 */
export function signEcdsaDigest(key: KeyObject, digested: Uint8Array): Buffer {
  const name = curveName(key)
  const numbers = curveNumbers(name)
  const { n } = numbers
  const e = leftmost(digested, numbers)
  const scalar = privateScalar(key)
  try {
    const d = toBigInt(scalar)
    for (;;) {
      const nonce = createECDH(name)
      const r = modulo(decodePoint(nonce.generateKeys()).x, n)
      const k = nonce.getPrivateKey()
      const blind = randomBelow(numbers)
      const blinded = modulo(blind * e + r * modulo(blind * d, n), n)
      const s = modulo(blinded * inverse(modulo(blind * toBigInt(k), n), n), n)
      k.fill(0)
      if (r !== 0n && s !== 0n) return derSignature(r, s, numbers)
    }
  } finally {
    scalar.fill(0)
  }
}

/**
 * Is (r, s) the signature of this digest? It is one of digest e under Q exactly when it is one of e' under Q + δG with
 * δ = (e - e')/r: both have r/s·Q + e/s·G. So OpenSSL verifies a message of our own under that other key.
 * @throws CryptoFailure unsupported for curves over a binary field
 */
export function verifyEcdsaDigest(key: KeyObject, digested: Uint8Array, signature: Uint8Array): boolean {
  const name = curveName(key)
  const numbers = curveNumbers(name)
  const r = firstNumber(signature)
  if (r === undefined || r <= 0n || r >= numbers.n) return false
  const e = leftmost(digested, numbers)
  const spki = key.export({ format: 'der', type: 'spki' })
  const point = pointWithin(spki, name)
  for (;;) {
    const message = randomBytes(32)
    const other = leftmost(hash('sha256', message, 'buffer'), numbers)
    const delta = modulo((e - other) * inverse(r, numbers.n), numbers.n)
    const moved = delta === 0n ? point : movePoint(numbers, name, point, delta)
    if (moved === undefined) continue
    return verify('sha256', message, withPoint(spki, numbers, moved), signature)
  }
}

function movePoint(numbers: CurveNumbers, name: string, point: Point, delta: bigint): Point | undefined {
  return sum(numbers, point, timesBase(name, toBytes(delta, Math.ceil(numbers.orderBits / 8))))
}

/** The leftmost bits of a digest, as many as the order has (FIPS 186-5 §6.4.1, step 2). */
function leftmost(digested: Uint8Array, { orderBits }: CurveNumbers): bigint {
  const excess = digested.length * 8 - orderBits
  return excess > 0 ? toBigInt(digested) >> BigInt(excess) : toBigInt(digested)
}

/** A random number of 1 to n - 1; its bias is below 2^-64. */
function randomBelow({ n, orderBits }: CurveNumbers): bigint {
  return 1n + modulo(toBigInt(randomBytes(Math.ceil(orderBits / 8) + 8)), n - 1n)
}

function curveName(key: KeyObject): string {
  return key.asymmetricKeyDetails?.namedCurve ?? ''
}

/** The OCTET STRING of an ECPrivateKey (RFC 5915 §3), in bytes of its own. */
function privateScalar(key: KeyObject): Uint8Array {
  const der = key.export({ format: 'der', type: 'sec1' })
  try {
    const what = 'the private key'
    return Uint8Array.from(derContent(derMembers(der, what)[1], derTag.octetString, what))
  } finally {
    der.fill(0)
  }
}

/** r of a signature; undefined for invalid signatures. */
function firstNumber(signature: Uint8Array): bigint | undefined {
  try {
    return toBigInt(derMagnitude(derMembers(signature, 'the signature')[0], 'the signature'))
  } catch {
    return undefined
  }
}

/** The same SubjectPublicKeyInfo with another point. */
function withPoint(spki: Uint8Array, { fieldBytes }: CurveNumbers, { x, y }: Point): KeyObject {
  const [algorithm] = derMembers(spki, 'the public key')
  const point = Buffer.concat([Buffer.from([0x04]), toBytes(x, fieldBytes), toBytes(y, fieldBytes)])
  const key = derSequence(algorithm?.whole ?? Buffer.alloc(0), derBitString(point))
  return createPublicKey({ key, format: 'der', type: 'spki' })
}

/** The point of a SubjectPublicKeyInfo, which may be compressed there. */
function pointWithin(spki: Uint8Array, name: string): Point {
  const bits = derBits(derMembers(spki, 'the public key')[1], 'the public key')
  const point = ECDH.convertKey(bits, name, undefined, undefined, 'uncompressed')
  return decodePoint(point as Buffer)
}

/** Converts a signature of two numbers in full length (RFC 7518 §3.4) to DER. */
export function toDerSignature(signature: Uint8Array): Buffer {
  const half = signature.length / 2
  return derSequence(derInteger(signature.subarray(0, half)), derInteger(signature.subarray(half)))
}

function derSignature(r: bigint, s: bigint, { orderBits }: CurveNumbers): Buffer {
  const length = Math.ceil(orderBits / 8)
  return derSequence(derInteger(toBytes(r, length)), derInteger(toBytes(s, length)))
}
