import type { Database } from '@warder/foundation/sql'
import { type ParsedCertificate, parseCertificate, readAuthorityKeyIdentifier } from '@warder/pki/x509'
import { readAuthority } from './register/authority-store.ts'
import { parseOnce } from './register/parsed.ts'

/**
 * Whether a key goes on naming the certificate that it names, when it gets another one. The key of an authority does,
 * unless the new certificate is by the same issuer: otherwise that key, named as an issuer, would stand for a certificate
 * that others gave it.
 * @param known identifier of the certificate that the key names
 * @param der of the new certificate
 */
export async function keepsCertificate(
  db: Database,
  known: string | undefined,
  der: Uint8Array,
): Promise<boolean> {
  const authority = known === undefined ? undefined : await readAuthority(db, known)
  if (authority === undefined) return false
  return formatIssuer(parseOnce(authority.certificate)) !== formatIssuer(parseCertificate(der))
}

/** Name and key of the issuer, as a certificate says them. */
function formatIssuer({ issuer, extensions }: ParsedCertificate): string {
  const key = readAuthorityKeyIdentifier(extensions) ?? new Uint8Array()
  return [issuer, key].map((bytes) => Buffer.from(bytes).toString('hex')).join()
}
