import type { ProfileName } from '@warder/pki'

/** Settings of the certificates that an authority issues. */
export interface AuthoritySettings {
  /** Profiles of certificates; undefined: every profile that its path length permits. */
  readonly profiles?: readonly ProfileName[]
  /** Maximum validity of a certificate, in days; undefined: until the expiry of the authority. */
  readonly maxDays?: number
}

/** Configuration of the publication of revocations. */
export interface RevocationConfig {
  /** Before `/public/certificates/…` and `/ocsp` in addresses; undefined: certificates name none. No slash at the end. */
  readonly publicUrl: string | undefined
  readonly crlValidityMs: number
  /** A CRL is replaced this long before it expires. */
  readonly crlOverlapMs: number
  /** Maximum time for which clients may cache a CRL. */
  readonly crlCacheMs: number
  readonly ocspValidityMs: number
  /** true: a delegated responder signs OCSP responses; false: the authority itself. */
  readonly delegatedResponder: boolean
  /** Max responses that one worker signs per second, in addition to cached ones. */
  readonly freshAnswersPerSecond: number
}

/** RFC 6960 §4.2.2.2.1: clients do not check the revocation of a responder's certificate, so its validity is short. */
export const responderValidityMs = 14 * 86_400_000

/** Principal of uses of keys by the service itself, as in its own audit records. */
export const serviceName = 'warder'
