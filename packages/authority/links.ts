import { type ParsedCertificate, parseCertificate, readAuthorityKeyIdentifier } from '@warder/pki'
import type { Database } from '@warder/storage'
import { readAuthority } from './register/authority-store.ts'
import { parseOnce } from './register/parsed.ts'

/**
 * Whether a key keeps its link to a certificate when it gets another certificate. The key of an authority keeps it,
 * unless the new certificate is by the same issuer: otherwise a client that names that key as an issuer would use a
 * certificate that other parties issued.
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

/** Name and key identifier of the issuer, as a certificate states them. */
function formatIssuer({ issuer, extensions }: ParsedCertificate): string {
  const key = readAuthorityKeyIdentifier(extensions) ?? new Uint8Array()
  return [issuer, key].map((bytes) => Buffer.from(bytes).toString('hex')).join()
}
