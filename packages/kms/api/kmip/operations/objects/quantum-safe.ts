import { Tag } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import { kmipFailure } from '../../failure/failure.ts'

/** Symmetric keys of this length keep the strength of 128 bits against Grover's search (NIST IR 8105 §2). */
const safeBits = 256
const symmetric = /^(AES|HMAC|ChaCha20|Camellia|ARIA|SecretData)/
const postQuantum = /^(ML[-_]KEM|ML[-_]DSA|SLH[-_]DSA)/

/**
 * Refuses a key that was asked to be safe from quantum computers (attribute QuantumSafe, KMIP 2.1 §4.45) and is not.
 * @throws kmipFailure GeneralFailure, as the profile's test case QS-M-2 wants it
 */
export function requireQuantumSafe(attributes: readonly TtlvNode[], algorithm: string, bits: number): void {
  if (!attributes.some(({ tag, value }) => tag === Tag.QuantumSafe && value === true)) return
  if (postQuantum.test(algorithm)) return
  if (symmetric.test(algorithm) && bits >= safeBits) return
  throw kmipFailure('GeneralFailure', 'NOT_SAFE')
}
