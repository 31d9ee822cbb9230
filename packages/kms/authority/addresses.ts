import type { ProfileWish } from '@warder/pki/x509'
import type { RevocationConfig } from './register/settings.ts'

/** Where relying parties learn about what an authority issued; nothing while nobody knows the address of this service. */
export function addressesOf(
  { publicUrl }: Pick<RevocationConfig, 'publicUrl'>,
  authorityId: string,
): Pick<ProfileWish, 'crlUrls' | 'ocspUrls' | 'issuerUrls'> {
  if (publicUrl === undefined) return {}
  const at = `${publicUrl}/public/certificates/${encodeURIComponent(authorityId)}`
  return { crlUrls: [`${at}/crl`], ocspUrls: [`${publicUrl}/ocsp`], issuerUrls: [`${at}/certificate`] }
}
