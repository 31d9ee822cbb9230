import { createHash } from 'node:crypto'
import { comparableName } from '@warder/pki'

/**
 * Identifies a name together with a public key: authorities that share both have one register, one revocation list and
 * one responder, because a relying party cannot tell them apart (RFC 5280 §4.1.2.2, §5.2.3).
 * @returns 24 characters, base64url
 */
export function issuerId({ name, spki }: { readonly name: Uint8Array; readonly spki: Uint8Array }): string {
  const hash = createHash('sha256').update(createHash('sha256').update(name).digest()).update(spki)
  return hash.digest().subarray(0, 18).toString('base64url')
}

/** Under which the store knows the public key of an authority. */
export function hashPublicKey(spki: Uint8Array): string {
  return createHash('sha256').update(spki).digest('base64url')
}

/**
 * Under which the store knows the name of an authority: the same for names that RFC 5280 §7.1 calls equal.
 * @throws PkiError
 */
export function hashName(name: Uint8Array): string {
  const hash = createHash('sha256').update(JSON.stringify(comparableName(name)))
  return `name:${hash.digest('base64url')}`
}
