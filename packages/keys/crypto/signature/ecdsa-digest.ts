import { createECDH, createPublicKey, ECDH, hash, type KeyObject, randomBytes, verify } from 'node:crypto'
import {
  derBitString,
  derBits,
  derContent,
  derInteger,
  derMagnitude,
  derMembers,
  derSequence,
  derTag,
} from '@warder/pki'
import {
  type CurveNumbers,
  curveNumbers,
  decodePoint,
  inverse,
  modulo,
  type Point,
  sum,
  timesBase,
  toBigInt,
  toBytes,
} from './curve-numbers.ts'

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

function derSignature(r: bigint, s: bigint, { orderBits }: CurveNumbers): Buffer {
  const length = Math.ceil(orderBits / 8)
  return derSequence(derInteger(toBytes(r, length)), derInteger(toBytes(s, length)))
}
