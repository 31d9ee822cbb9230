import {
  createPrivateKey,
  createPublicKey,
  decapsulate,
  encapsulate,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { ml_kem512 } from '@noble/post-quantum/ml-kem.js'
import { sha3_256 } from './hashes.ts'

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

/** Whether an expanded key holds the hash of its encapsulation key (FIPS 203, 7.3). */
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
