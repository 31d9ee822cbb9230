import {
  authorityInformationAccess,
  crlDistributionPoints,
  type Extension,
  type ProfileWish,
} from '@warder/pki/x509'
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

/** The same as the extensions of a certificate (RFC 5280 §4.2.1.13, §4.2.2.1). */
export function publicationOf(
  config: Pick<RevocationConfig, 'publicUrl'>,
  authorityId: string,
): readonly Extension[] {
  const { crlUrls, ocspUrls = [], issuerUrls = [] } = addressesOf(config, authorityId)
  if (crlUrls === undefined) return []
  return [
    crlDistributionPoints(crlUrls),
    authorityInformationAccess({ ocsp: ocspUrls, caIssuers: issuerUrls }),
  ]
}
