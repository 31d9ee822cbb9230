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
