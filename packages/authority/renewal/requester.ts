import type { AccessServices } from '@warder/keys'
import type { CertificateRequester } from '../issuance/requester.ts'

/** The owner of a certificate, on whose behalf it is renewed. */
export interface RenewalRequester extends CertificateRequester {
  readonly services: CertificateRequester['services'] & AccessServices
}
