import {
  type AlgorithmPolicy,
  algorithms,
  joseSignature,
  type KeyShape,
  type SignaturePlan,
  whyDecryptionEncrypts,
} from '@warder/crypto'
import type { ManagedObject } from '@warder/keys'
import { kmipFailure } from '../failure/failure.ts'
import { joseWrapping, type WrappingKey, wrappingPlan } from './wrap.ts'

/**
 * A key that is bound to one JOSE algorithm (created over REST, or an HMAC key with its hash) has no other
 * use over KMIP.
 * @param jose JOSE names of the chosen algorithm; empty = none
 * @throws BadCryptographicParameters
 */
export function requireBinding({ boundAlg }: Pick<ManagedObject, 'boundAlg'>, jose: readonly string[]): void {
  if (boundAlg !== undefined && !jose.includes(boundAlg))
    throw kmipFailure('BadCryptographicParameters', `The key is bound to ${boundAlg}.`)
}

/**
 * The same for signatures. A bound key verifies PSS only with a salt as long as the hash (RFC 7518 §3.5).
 * @returns how the key signs or verifies
 * @throws BadCryptographicParameters
 */
export function requireSignatureBinding(
  object: Pick<ManagedObject, 'boundAlg'>,
  key: KeyShape,
  plan: SignaturePlan,
): SignaturePlan {
  requireBinding(object, joseSignature(key, plan))
  const anySalt = plan.scheme === 'pss' && plan.saltLength === undefined
  return anySalt && object.boundAlg !== undefined ? { ...plan, saltLength: plan.hash.bytes } : plan
}

/** A bound key wraps with its algorithm alone. @throws BadCryptographicParameters */
export function requireWrappingBinding(
  object: Pick<ManagedObject, 'boundAlg'>,
  wrapping: WrappingKey,
  policy: AlgorithmPolicy,
): void {
  if (object.boundAlg !== undefined) requireBinding(object, joseWrapping(wrapping, policy))
}

/**
 * A bound key that encrypts also unwraps keys that were wrapped with another algorithm, so that no wrapped key is lost:
 * this reveals no more than decryption does, except in modes whose decryption encrypts (docs/adr/rights-and-reach.md).
 * @throws BadCryptographicParameters
 */
export function requireUnwrappingBinding(
  object: Pick<ManagedObject, 'boundAlg'>,
  wrapping: WrappingKey,
  policy: AlgorithmPolicy,
): void {
  const { boundAlg } = object
  if (boundAlg === undefined) return
  const plan = wrappingPlan(wrapping, policy)
  const encrypts = !['signature', 'mac', undefined].includes(algorithms[boundAlg]?.use)
  if (encrypts && (plan === undefined || whyDecryptionEncrypts(plan) === undefined)) return
  requireBinding(object, joseWrapping(wrapping, policy))
}
