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
