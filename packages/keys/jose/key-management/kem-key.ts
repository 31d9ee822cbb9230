import { counter, lengthAnd } from '../../crypto/derivation/concat-kdf.ts'
import { kmac256 } from '../../crypto/mac/kmac.ts'

/**
 * The key that an encapsulated secret gives (draft-ietf-jose-pqc-kem, "Key Derivation for JOSE"): KMAC256 of AlgorithmID
 * and SuppPubInfo (RFC 7518 §4.6.2) under the secret. The caller wipes it.
 * @param algorithm `enc` of direct agreement, else `alg`
 */
export function kemKey(secret: Uint8Array, algorithm: string, bits: number): Buffer {
  const context = Buffer.concat([lengthAnd(Buffer.from(algorithm, 'ascii')), counter(bits)])
  return kmac256(secret, context, bits / 8)
}
