import { createHash } from 'node:crypto'
import { type ParsedCertificate, readAuthorityKeyIdentifier } from '@warder/pki'
import type { Database } from '@warder/storage'
import { issuerByHash, listAuthorities, type StoredAuthority } from './authority-store.ts'

/**
 * The authorities of this service that may have issued a certificate, by the issuer name and key identifier in it. Its
 * signature is not verified. An issuer whose key identifier is not the SHA-1 of its key (RFC 5280 §4.2.1.2, method 1)
 * is not found.
 */
export async function possibleIssuers(
  db: Database,
  { issuer, extensions }: Pick<ParsedCertificate, 'issuer' | 'extensions'>,
): Promise<readonly StoredAuthority[]> {
  const key = readAuthorityKeyIdentifier(extensions)
  if (key === undefined) return []
  const name = createHash('sha1').update(issuer).digest('hex')
  const found = await db.get(issuerByHash, [`sha1:${name}:${Buffer.from(key).toString('hex')}`])
  return found === undefined ? [] : listAuthorities(db, found.issuer)
}
