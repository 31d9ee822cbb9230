import { failure } from '@warder/base'
import type { SignatureAlgorithm } from '../algorithms/algorithms.ts'
import type { DescribedKey } from '../backend/software.ts'
import type { KeyMaterial, MaterialDescriptor } from '../material/material.ts'
import { verifyOffLoop } from '../signature/sign.ts'
import { type Base64Url, encodeBase64Url } from './base64url.ts'
import { jwsHeader } from './protected-header.ts'

/**
 * Signs with a private key, in the format of JOSE.
 * @throws failure('crypto_failure') when the key's type or curve is not the algorithm's
 */
export async function createSignature(
  algorithm: SignatureAlgorithm,
  key: DescribedKey,
  data: Uint8Array,
): Promise<Buffer> {
  requireFit(algorithm, key, 'private')
  return key.held.sign(algorithm.plan, { data })
}

/** true if the signature is valid; false for any other bytes, of any length. */
export async function checkSignature(
  algorithm: SignatureAlgorithm,
  material: KeyMaterial,
  data: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  requireFit(algorithm, material, 'public')
  const { plan, curve } = algorithm
  // r and s, each as long as the field (RFC 7518 §3.4).
  if (curve !== undefined && signature.length !== 2 * Math.ceil(material.bits / 8)) return false
  const inPlace = material.curve === 'P-256' || material.algorithm === 'Ed25519'
  return verifyOffLoop(material.key, plan, { data }, signature, inPlace)
}

function requireFit(
  algorithm: SignatureAlgorithm,
  key: MaterialDescriptor,
  kind: MaterialDescriptor['kind'],
): void {
  const curveFits = algorithm.curve === undefined || algorithm.curve === key.curve
  if (key.kind !== kind || key.algorithm !== algorithm.material || !curveFits)
    throw failure('crypto_failure', 'The type of the key does not match the algorithm.')
}

/** Detached JWS (RFC 7515 appendix F): header and signature, the payload stays with the caller. */
interface DetachedJws {
  readonly protected: Base64Url
  readonly signature: Base64Url
}

/**
 * Signs `protected '.' data`.
 * @param data base64url text of the payload, as the request gave it
 * @param kid the identifier that verifiers look up: the public key's id, if there is one
 */
export async function jwsSign(
  key: DescribedKey,
  kid: string,
  alg: { readonly name: string; readonly algorithm: SignatureAlgorithm },
  data: string,
): Promise<DetachedJws> {
  const header = jwsHeader(alg.name, kid)
  const signature = await createSignature(alg.algorithm, key, signingInput(header, data))
  return { protected: header, signature: encodeBase64Url(signature) }
}

/** Whether the signature over `protected '.' data` is right. */
export async function jwsVerify(
  publicMaterial: KeyMaterial,
  algorithm: SignatureAlgorithm,
  protectedHeader: string,
  data: string,
  signature: Uint8Array,
): Promise<boolean> {
  return checkSignature(algorithm, publicMaterial, signingInput(protectedHeader, data), signature)
}

function signingInput(header: string, data: string): Buffer {
  return Buffer.from(`${header}.${data}`, 'latin1')
}
