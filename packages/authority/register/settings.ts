import type { ProfileName } from '@warder/pki'

/** Settings of the certificates that an authority issues. */
export interface AuthoritySettings {
  /** Kinds of certificates; undefined: every kind that its path length leaves. */
  readonly profiles?: readonly ProfileName[]
  /** Longest validity of a certificate, in days; undefined: to the end of the authority's own. */
  readonly maxDays?: number
}

/** Configuration of the publication of revocations. */
export interface RevocationConfig {
  /** Before `/public/certificates/…` and `/ocsp` in addresses; undefined: certificates name none. No slash at the end. */
  readonly publicUrl: string | undefined
  readonly crlValidityMs: number
  /** A CRL is signed again so long before its end. */
  readonly crlOverlapMs: number
  /** Longest time that others may keep a CRL without asking again. */
  readonly crlCacheMs: number
  readonly ocspValidityMs: number
  /** true: a delegated responder signs OCSP responses; false: the authority itself. */
  readonly delegatedResponder: boolean
  /** Max responses that one worker signs per second, in addition to cached ones. */
  readonly freshAnswersPerSecond: number
}

/** RFC 6960 §4.2.2.2.1: clients do not check the revocation of a responder's certificate, so its validity is short. */
export const responderValidityMs = 14 * 86_400_000

/** Whose use of a key it is when the service signs by itself, as in its own audit records. */
export const serviceName = 'warder'
