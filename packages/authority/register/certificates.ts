import { createHash, randomBytes } from 'node:crypto'
import { comparableName, type ParsedCertificate, parseCertificate } from '@warder/pki'

/**
 * Identifies a name together with a public key: authorities that share both have one register, one revocation
 * list and one responder, because a relying party cannot distinguish them (RFC 5280 §4.1.2.2, §5.2.3).
 * @returns 24 characters, base64url
 */
export function issuerId({ name, spki }: { readonly name: Uint8Array; readonly spki: Uint8Array }): string {
  const hash = createHash('sha256').update(createHash('sha256').update(name).digest()).update(spki)
  return hash.digest().subarray(0, 18).toString('base64url')
}

/** Hash by which the store finds the public key of an authority. */
export function hashPublicKey(spki: Uint8Array): string {
  return createHash('sha256').update(spki).digest('base64url')
}

/**
 * Hash by which the store finds the name of an authority; the same for names that match by RFC 5280 §7.1.
 * @throws PkiError
 */
export function hashName(name: Uint8Array): string {
  const hash = createHash('sha256').update(JSON.stringify(comparableName(name)))
  return `name:${hash.digest('base64url')}`
}

const parsed = new WeakMap<Uint8Array, ParsedCertificate>()

/**
 * Parses a certificate of an authority, and caches the result by its bytes, which must not change.
 * @throws PkiError
 */
export function parseOnce(der: Uint8Array): ParsedCertificate {
  const before = parsed.get(der)
  if (before !== undefined) return before
  const certificate = parseCertificate(der)
  parsed.set(der, certificate)
  return certificate
}

/**
 * A serial number with 128 random bits, always positive and of 17 bytes (RFC 5280 §4.1.2.2 permits 20). The register
 * ensures that an issuer never uses one twice.
 */
export function newSerial(): Buffer {
  const bytes = randomBytes(17)
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f)
  return bytes
}
