import type { DescribedKey } from '../backend/described-key.ts'
import type { SignatureAlgorithm } from '../crypto/algorithms/algorithms.ts'
import type { KeyMaterial } from '../crypto/material/material.ts'
import { jwsHeader } from './protected-header.ts'
import { checkSignature, createSignature } from './signature.ts'
import { type Base64Url, encodeBase64Url } from './text/base64url.ts'

/** Detached JWS (RFC 7515 appendix F): header and signature, the payload stays with the caller. */
export interface DetachedJws {
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
