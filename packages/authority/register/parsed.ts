import { randomBytes } from 'node:crypto'
import { type ParsedCertificate, parseCertificate } from '@warder/pki'

const parsed = new WeakMap<Uint8Array, ParsedCertificate>()

/**
 * A certificate of an authority, read once for as long as its bytes are held: they are not changed.
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
