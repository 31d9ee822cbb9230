import { parseCertificate, readKeyIdentifier } from '@warder/pki'
import type { StoredAuthority } from '../../register/authority-store.ts'
import { registerId } from '../../register/register-store.ts'

/**
 * The register entry that a certificate identifier names (RFC 9773 §4.1): the key identifier of the issuer and the
 * serial number, each in base64url.
 * @returns undefined for an invalid identifier, or one of another issuer
 */
export function registerEntryNamed(authority: StoredAuthority, text: string): string | undefined {
  const [issuer, serial, more] = text.split('.').map(strictBytes)
  if (issuer === undefined || serial === undefined || more !== undefined) return undefined
  const own = readKeyIdentifier(parseCertificate(authority.certificate).extensions)
  if (own === undefined || Buffer.compare(own, issuer) !== 0 || serial.length === 0) return undefined
  return registerId(authority.issuer, serial)
}

function strictBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
