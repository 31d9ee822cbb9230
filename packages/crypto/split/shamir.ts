import { randomBytes } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'

/** KMIP 2.1 §11.52. */
export type SplitKeyMethod =
  | 'XOR'
  | 'PolynomialSharingGF216'
  | 'PolynomialSharingPrimeField'
  | 'PolynomialSharingGF28'

/** One part of a split key: KeyPartIdentifier (from 1, the point at which the polynomial is evaluated) and material. */
export interface KeyPart {
  readonly identifier: number
  readonly bytes: Buffer
}

/** A field of 2^8 or 2^16 elements; addition is XOR. */
export interface BinaryField {
  /** Bytes of an element. */
  readonly bytes: 1 | 2
  multiply(left: number, right: number): number
}

/** x^8 + x^4 + x^3 + x^2 + 1: the field that KMIP 2.1 §13 builds on. */
const reduction = 0x1d

/** Multiplies in GF(2^8) without tables and branches: the timing reveals neither number. */
function multiply8(left: number, right: number): number {
  let product = 0
  let shifted = left
  for (let bit = 0; bit < 8; bit += 1) {
    product ^= shifted & -((right >> bit) & 1)
    shifted = ((shifted << 1) & 0xff) ^ (reduction & -(shifted >> 7))
  }
  return product
}

/** m = x^5 + x^4 + x^3 + x: GF(2^16) is GF(2^8)[y] / (y^2 + y + m), an element is uy + v with u in the high byte. */
const m = 0x3a

function multiply16(left: number, right: number): number {
  const [r, s, u, v] = [left >> 8, left & 0xff, right >> 8, right & 0xff]
  // (ry + s)(uy + v) with y² = y + m.
  const ru = multiply8(r, u)
  const sv = multiply8(s, v)
  return ((multiply8(r ^ s, u ^ v) ^ sv) << 8) | (multiply8(ru, m) ^ sv)
}

export const gf8: BinaryField = { bytes: 1, multiply: multiply8 }
export const gf16: BinaryField = { bytes: 2, multiply: multiply16 }

/** The inverse of an element that is not zero: its power of all elements but two (Fermat). */
export function inverse(field: BinaryField, element: number): number {
  let power = 1
  let square = element
  for (let bit = 1; bit < field.bytes * 8; bit += 1) {
    square = field.multiply(square, square)
    power = field.multiply(power, square)
  }
  return power
}

/**
 * Shamir's secret sharing, element by element, each with its own polynomial (KMIP 2.1 §13). Multiplications with the
 * secret use the field's constant-time multiplication.
 * @param secret a whole number of elements
 */
export function splitInBinaryField(
  field: BinaryField,
  secret: Uint8Array,
  parts: number,
  threshold: number,
): KeyPart[] {
  const coefficients = randomBytes((threshold - 1) * secret.length)
  const made = Array.from({ length: parts }, (_, index): KeyPart => {
    const identifier = index + 1
    const bytes = Buffer.alloc(secret.length)
    for (let at = 0; at < secret.length; at += field.bytes) {
      let value = 0
      for (let degree = threshold - 2; degree >= 0; degree -= 1)
        value = field.multiply(
          value ^ elementAt(field, coefficients, degree * secret.length + at),
          identifier,
        )
      setElement(field, bytes, at, value ^ elementAt(field, secret, at))
    }
    return { identifier, bytes }
  })
  coefficients.fill(0)
  return made
}

/**
 * The secret of `threshold` parts of one length, the others being checked against it.
 * @throws failed for parts that do not belong together
 */
export function joinInBinaryField(field: BinaryField, parts: readonly KeyPart[], threshold: number): Buffer {
  const points = parts
    .slice(0, threshold)
    .map((part) => toWeightedPoint(field, part, parts.slice(0, threshold)))
  for (const { identifier, bytes } of parts.slice(threshold))
    if (!valueAt(field, points, identifier).equals(bytes)) throw refuse('failed')
  return valueAt(field, points, 0)
}

/** A part with the constant factor of its Lagrange coefficient: 1 / Π (xᵢ - xⱼ). */
interface Point extends KeyPart {
  readonly weight: number
}

function toWeightedPoint(field: BinaryField, part: KeyPart, all: readonly KeyPart[]): Point {
  let below = 1
  for (const { identifier } of all)
    if (identifier !== part.identifier) below = field.multiply(below, part.identifier ^ identifier)
  return { ...part, weight: inverse(field, below) }
}

/** The values at `x` of the polynomials through these points (Lagrange). The identifiers are no secret. */
function valueAt(field: BinaryField, points: readonly Point[], x: number): Buffer {
  const values = Buffer.alloc(points[0]?.bytes.length ?? 0)
  for (const { identifier, bytes, weight } of points) {
    let coefficient = weight
    for (const other of points)
      if (other.identifier !== identifier) coefficient = field.multiply(coefficient, x ^ other.identifier)
    for (let at = 0; at < values.length; at += field.bytes) {
      const share = field.multiply(elementAt(field, bytes, at), coefficient)
      setElement(field, values, at, elementAt(field, values, at) ^ share)
    }
  }
  return values
}

function elementAt(field: BinaryField, bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number
  return field.bytes === 1 ? first : (first << 8) | (bytes[at + 1] as number)
}

function setElement(field: BinaryField, bytes: Uint8Array, at: number, value: number): void {
  if (field.bytes === 1) bytes[at] = value
  else {
    bytes[at] = value >> 8
    bytes[at + 1] = value & 0xff
  }
}
