import sodium from 'libsodium-wrappers-sumo'

await sodium.ready

/** Bytes of a scalar (little-endian, below the order of the group) and of an encoded point (RFC 9496). */
export const scalarBytes = 32
export const pointBytes = 32

export type Scalar = Uint8Array
export type Point = Uint8Array

/** 2^252 + 27742317777372353535851937790883648493, little-endian. */
const order = Buffer.from('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010', 'hex')

/** A uniform scalar other than zero. */
export function randomScalar(): Scalar {
  return sodium.crypto_core_ristretto255_scalar_random()
}

/** A seed of 32 bytes as a little-endian integer, reduced. */
export function toScalar(seed: Uint8Array): Scalar {
  const wide = new Uint8Array(2 * scalarBytes)
  wide.set(seed)
  const scalar = sodium.crypto_core_ristretto255_scalar_reduce(wide)
  wide.fill(0)
  return scalar
}

/** Whether the bytes are a scalar below the order, other than zero. */
export function isScalar(bytes: Uint8Array): boolean {
  return bytes.length === scalarBytes && !sodium.is_zero(bytes) && sodium.compare(bytes, order) < 0
}

/** Whether the bytes are the canonical encoding of a point other than the identity (RFC 9496, 4.3.1). */
export function isPoint(bytes: Uint8Array): boolean {
  return (
    bytes.length === pointBytes &&
    !sodium.is_zero(bytes) &&
    sodium.crypto_core_ristretto255_is_valid_point(bytes)
  )
}

/** `scalar` times the base point. */
export function baseTimes(scalar: Scalar): Point {
  return sodium.crypto_scalarmult_ristretto255_base(scalar)
}

/** `scalar` times `point`; undefined when `point` is no point, or the result is the identity. */
export function times(scalar: Scalar, point: Point): Point | undefined {
  try {
    return sodium.crypto_scalarmult_ristretto255(scalar, point)
  } catch {
    // The library reports an invalid point or an identity only as a generic error.
    return undefined
  }
}

export function plus(left: Point, right: Point): Point {
  return sodium.crypto_core_ristretto255_add(left, right)
}

export function scalarProduct(left: Scalar, right: Scalar): Scalar {
  return sodium.crypto_core_ristretto255_scalar_mul(left, right)
}

export function scalarSum(left: Scalar, right: Scalar): Scalar {
  return sodium.crypto_core_ristretto255_scalar_add(left, right)
}

export function scalarDifference(left: Scalar, right: Scalar): Scalar {
  return sodium.crypto_core_ristretto255_scalar_sub(left, right)
}

/** The inverse of a scalar other than zero. */
export function scalarInverse(scalar: Scalar): Scalar {
  return sodium.crypto_core_ristretto255_scalar_invert(scalar)
}
