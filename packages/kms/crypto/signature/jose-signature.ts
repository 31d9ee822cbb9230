import { type KeyObject, sign, type VerifyKeyObjectInput, verify } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import type { MaybePromise } from '@warder/foundation/sql'
import type { SignatureAlgorithm } from '../algorithms/algorithms.ts'
import type { KeyMaterial } from '../material/material.ts'
import { es256Sign } from './ecdsa.ts'
import { rsaSign, rsaVerify } from './rsa-signature.ts'

/**
 * Signs with a private key. ES256 and EdDSA in place; RSA, the slow curves and ML-DSA on the thread pool.
 * @throws failure('crypto_failure') when the key's type or curve is not the algorithm's
 */
export function createSignature(
  algorithm: SignatureAlgorithm,
  material: KeyMaterial,
  data: Uint8Array,
): Buffer | Promise<Buffer> {
  requireFit(algorithm, material, 'private')
  const { key } = material
  switch (algorithm.scheme) {
    case 'pkcs1':
    case 'pss':
      return rsaSign(algorithm.scheme, algorithm.hash, key, data)
    case 'ecdsa':
      return algorithm.curve === 'P-256' ? es256Sign(key, data) : onPool(algorithm.hash, key, data, true)
    case 'eddsa':
      return sign(null, data, key)
    case 'ml-dsa':
      return onPool(null, key, data, false)
  }
}

/**
 * true when the signature is right; any other bytes, of any length, are false. The slow curves and ML-DSA on the thread
 * pool: a batch of a thousand would keep everybody waiting for seconds.
 */
export function checkSignature(
  algorithm: SignatureAlgorithm,
  material: KeyMaterial,
  data: Uint8Array,
  signature: Uint8Array,
): MaybePromise<boolean> {
  requireFit(algorithm, material, 'public')
  const { key } = material
  switch (algorithm.scheme) {
    case 'pkcs1':
    case 'pss':
      return rsaVerify(algorithm.scheme, algorithm.hash, key, data, signature)
    case 'ecdsa':
      if (signature.length !== algorithm.signatureBytes) return false
      return algorithm.curve === 'P-256'
        ? verify(algorithm.hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
        : checkedOnPool(algorithm.hash, key, data, signature, true)
    case 'eddsa':
      return verify(null, data, key, signature)
    case 'ml-dsa':
      return checkedOnPool(null, key, data, signature, false)
  }
}

function requireFit(algorithm: SignatureAlgorithm, material: KeyMaterial, kind: KeyMaterial['kind']): void {
  const curveFits = algorithm.scheme !== 'ecdsa' || algorithm.curve === material.curve
  if (material.kind !== kind || material.algorithm !== algorithm.material || !curveFits) {
    throw failure('crypto_failure', 'The key is of another type than the algorithm needs.')
  }
}

function keyInput(key: KeyObject, p1363: boolean): VerifyKeyObjectInput {
  return p1363 ? { key, dsaEncoding: 'ieee-p1363' } : { key }
}

function checkedOnPool(
  hash: string | null,
  key: KeyObject,
  data: Uint8Array,
  signature: Uint8Array,
  p1363: boolean,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    verify(hash, data, keyInput(key, p1363), signature, (error, right) => {
      if (error) reject(error)
      else resolve(right)
    })
  })
}

function onPool(hash: string | null, key: KeyObject, data: Uint8Array, p1363: boolean): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(hash, data, keyInput(key, p1363), (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })
}
