import * as nodeCrypto from 'node:crypto'
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  decapsulate,
  encapsulate,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { ml_kem512 } from '@noble/post-quantum/ml-kem.js'
import sodium from 'libsodium-wrappers-sumo'
import { join } from './bytes.ts'

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

/** `createMac` of Node 26, which its published types do not have yet. */
interface MacModule {
  createMac(
    name: 'kmac256',
    key: Uint8Array,
    options: { readonly customization: Uint8Array; readonly outputLength: number },
  ): { update(data: Uint8Array): void; final(): Buffer }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  return first !== undefined && parts.length === 1 ? first : join(parts)
}

/** SHA3-256 (FIPS 202) over the concatenation of the parts. */
export function sha3_256(...parts: readonly Uint8Array[]): Uint8Array {
  return nodeCrypto.hash('sha3-256', concat(parts), 'buffer')
}

/** SHA3-384 (FIPS 202) over the concatenation of the parts. */
export function sha3_384(...parts: readonly Uint8Array[]): Uint8Array {
  return nodeCrypto.hash('sha3-384', concat(parts), 'buffer')
}

/** SHAKE256(secret || label), 32 bytes. */
export function deriveKey(secret: Uint8Array, label: string): Buffer {
  return createHash('shake256', { outputLength: 32 }).update(secret).update(label, 'utf8').digest()
}

/** KMAC256 (SP 800-185, not the XOF), 32 bytes. */
export function kmac256(key: Uint8Array, customisation: string, data: Uint8Array): Buffer {
  const options = { customization: Buffer.from(customisation, 'utf8'), outputLength: 32 }
  const mac = (nodeCrypto as unknown as MacModule).createMac('kmac256', key, options)
  mac.update(data)
  return mac.final()
}

/** ML-KEM-512 (FIPS 203): bytes of an encapsulation key, an expanded decapsulation key and a ciphertext. */
export const encapsulationKeyBytes = 800
export const decapsulationKeyBytes = 1632
export const kemCiphertextBytes = 768
/** Bytes of the shared secret. */
export const sharedKeyBytes = 32
/** An expanded decapsulation key is dk_pke, the encapsulation key, its hash, and the value of implicit rejection. */
const encapsulationKeyStart = 768
const encapsulationKeyEnd = encapsulationKeyStart + encapsulationKeyBytes

/** PKCS#8 of an expanded decapsulation key of ML-KEM-512 (RFC 9935, 6), without the key. */
const expandedKeyHeader = Buffer.from('30820678020100300b06096086480165030404010482066404820660', 'hex')

/**
 * Generates a decapsulation key in the expanded form. The runtime creates the same key from the same seed but exports
 * only the seed, so the library expands it.
 */
export function randomDecapsulationKey(): Uint8Array {
  const seed = randomBytes(64)
  const { secretKey } = ml_kem512.keygen(seed)
  seed.fill(0)
  return secretKey
}

/** Returns the encapsulation key within an expanded decapsulation key. */
export function readEncapsulationKey(decapsulationKey: Uint8Array): Uint8Array {
  return decapsulationKey.subarray(encapsulationKeyStart, encapsulationKeyEnd)
}

/** Whether an expanded key contains the hash of its encapsulation key (FIPS 203, 7.3). */
export function isDecapsulationKey(bytes: Uint8Array): boolean {
  if (bytes.length !== decapsulationKeyBytes) return false
  const hash = bytes.subarray(encapsulationKeyEnd, encapsulationKeyEnd + 32)
  return Buffer.compare(sha3_256(readEncapsulationKey(bytes)), hash) === 0
}

/** Imports a decapsulation key for `kemOpen`; undefined when the runtime refuses it. */
export function importDecapsulationKey(bytes: Uint8Array): KeyObject | undefined {
  const der = Buffer.concat([expandedKeyHeader, bytes])
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  } catch {
    return undefined
  } finally {
    der.fill(0)
  }
}

export interface KemSealed {
  readonly sharedKey: Uint8Array
  readonly ciphertext: Uint8Array
}

/** Encapsulates for a raw encapsulation key; undefined when the runtime refuses the key (FIPS 203, 7.2). */
export function kemSeal(encapsulationKey: Uint8Array): KemSealed | undefined {
  const key = importPublicKey(encapsulationKey)
  return key === undefined ? undefined : encapsulate(key)
}

/**
 * Returns the shared secret, 32 bytes; a ciphertext for another key yields other bytes, not an error (implicit
 * rejection).
 */
export function kemOpen(key: KeyObject, ciphertext: Uint8Array): Uint8Array {
  return decapsulate(key, ciphertext)
}

function importPublicKey(raw: Uint8Array): KeyObject | undefined {
  try {
    // The published types do not have the raw formats yet.
    const input = { key: Buffer.from(raw), format: 'raw-public', asymmetricKeyType: 'ml-kem-512' }
    return createPublicKey(input as never)
  } catch {
    return undefined
  }
}
