import { failure } from '@warder/foundation/errors'
import type { MaybePromise } from '@warder/foundation/sql'
import type { SignatureAlgorithm } from '../algorithms/algorithms.ts'
import { curves } from '../algorithms/key-types.ts'
import type { KeyMaterial } from '../material/material.ts'
import { signWith, verifyOffLoop } from './sign.ts'

/**
 * Signs with a private key, as JOSE has it.
 * @throws failure('crypto_failure') when the key's type or curve is not the algorithm's
 */
export function createSignature(
  algorithm: SignatureAlgorithm,
  material: KeyMaterial,
  data: Uint8Array,
): Buffer | Promise<Buffer> {
  requireFit(algorithm, material, 'private')
  return signWith(material.key, algorithm.plan, { data }, isQuick(material))
}

/** true when the signature is right; any other bytes, of any length, are false. */
export function checkSignature(
  algorithm: SignatureAlgorithm,
  material: KeyMaterial,
  data: Uint8Array,
  signature: Uint8Array,
): MaybePromise<boolean> {
  requireFit(algorithm, material, 'public')
  const { plan, curve } = algorithm
  if (curve !== undefined && signature.length !== 2 * (curves[curve]?.bytes ?? 0)) return false
  return verifyOffLoop(material.key, plan, { data }, signature, isQuick(material))
}

/** Cheaper in place than handed to a thread. */
function isQuick({ algorithm, curve }: KeyMaterial): boolean {
  return curve === 'P-256' || algorithm === 'Ed25519'
}

function requireFit(algorithm: SignatureAlgorithm, material: KeyMaterial, kind: KeyMaterial['kind']): void {
  const curveFits = algorithm.curve === undefined || algorithm.curve === material.curve
  if (material.kind !== kind || material.algorithm !== algorithm.material || !curveFits) {
    throw failure('crypto_failure', 'The key is of another type than the algorithm needs.')
  }
}
