import {
  authorityInformationAccess,
  crlDistributionPoints,
  type Extension,
  type ProfileWish,
} from '@warder/pki'
import { maySignCrl } from './crl/make-crl.ts'
import type { StoredAuthority } from './register/authority-store.ts'
import type { RevocationConfig } from './register/settings.ts'

type Addressed = Pick<StoredAuthority, 'id' | 'certificate'>

/**
 * The URLs at which relying parties check the certificates of an authority; none while the public URL of this service
 * is not configured, and no CRL if the authority may not sign one.
 */
export function buildAddresses(
  { publicUrl }: Pick<RevocationConfig, 'publicUrl'>,
  authority: Addressed,
): Pick<ProfileWish, 'crlUrls' | 'ocspUrls' | 'issuerUrls'> {
  if (publicUrl === undefined) return {}
  const at = `${publicUrl}/public/certificates/${encodeURIComponent(authority.id)}`
  return {
    ...(maySignCrl(authority) && { crlUrls: [`${at}/crl`] }),
    ocspUrls: [`${publicUrl}/ocsp`],
    issuerUrls: [`${at}/certificate`],
  }
}

/** The same as the extensions of a certificate (RFC 5280 §4.2.1.13, §4.2.2.1). */
export function toPublicationExtensions(
  config: Pick<RevocationConfig, 'publicUrl'>,
  authority: Addressed,
): readonly Extension[] {
  const { crlUrls, ocspUrls, issuerUrls = [] } = buildAddresses(config, authority)
  return [
    ...(crlUrls === undefined ? [] : [crlDistributionPoints(crlUrls)]),
    ...(ocspUrls === undefined
      ? []
      : [authorityInformationAccess({ ocsp: ocspUrls, caIssuers: issuerUrls })]),
  ]
}
