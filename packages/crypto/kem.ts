import { decapsulate, encapsulate, type KeyObject } from 'node:crypto'
import { decryptionFailed, refuse } from './algorithms/failure.ts'
import { type CryptographicParameters, type ParameterName, requireOnly } from './algorithms/parameters.ts'
import { type AlgorithmPolicy, permit, requireOutsideFips } from './algorithms/policy.ts'
import { getPublicHalf, type KeyShape } from './material/material.ts'

const types: Readonly<Record<string, string>> = {
  'ml-kem-512': 'ML_KEM_512',
  'ml-kem-768': 'ML_KEM_768',
  'ml-kem-1024': 'ML_KEM_1024',
}
const names: ReadonlySet<ParameterName> = new Set(['cryptographicAlgorithm'])

/** Is this a key that Encrypt encapsulates with? */
export function isKemKey(key: KeyShape): boolean {
  return types[key.asymmetricKeyType ?? ''] !== undefined
}

/** @throws CryptoFailure unsupported, bad_parameters */
export function requireKem(
  key: KeyShape,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): void {
  const name = types[key.asymmetricKeyType ?? ''] ?? ''
  requireOnly(parameters, name, names)
  requireOutsideFips(policy, name)
  permit(policy, () => ({ algorithms: name }))
  const { cryptographicAlgorithm } = parameters
  if (cryptographicAlgorithm !== undefined && cryptographicAlgorithm !== name)
    throw refuse('bad_parameters', `The key is not a key of ${cryptographicAlgorithm}.`)
}

/** A fresh shared secret of 32 bytes and its encapsulation (FIPS 203 §7.2). */
export function encapsulateFor(key: KeyObject): { readonly secret: Buffer; readonly encapsulation: Buffer } {
  const { sharedKey, ciphertext } = encapsulate(key.type === 'private' ? getPublicHalf(key) : key)
  return { secret: Buffer.from(sharedKey), encapsulation: Buffer.from(ciphertext) }
}

/**
 * The shared secret of an encapsulation (FIPS 203 §7.3). One that was not made for this key yields another secret, not
 * an error.
 * @throws decryption_failed for a wrong length
 */
export function openEncapsulation(key: KeyObject, encapsulation: Uint8Array): Buffer {
  try {
    return Buffer.from(decapsulate(key, encapsulation as Uint8Array<ArrayBuffer>))
  } catch {
    throw decryptionFailed()
  }
}
