/**
 * Certificate authorities: they issue certificates of profiles within their limits, keep the register of what they
 * issued, and tell who asks what was revoked. Knows no protocol; an operation stages what it does in a unit of work and
 * the front end commits.
 */
export { addressesOf } from './addresses.ts'
export {
  type Authority,
  certificateSign,
  findAuthority,
  issuerOf,
  newAuthority,
  openAuthority,
  requireAuthorityCertificate,
} from './authority.ts'
export { type StoredAuthority, visibleAuthorities } from './authority-store.ts'
export { certify, type SignedCertificate, type WantedCertificate } from './certify.ts'
export { withPkiFailures } from './failures.ts'
export {
  type Issued,
  type IssueRequest,
  type IssueServices,
  issue,
  type MakeCertificateObject,
} from './issue.ts'
export { issuerId } from './issuer-id.ts'
export { pathLengthLeft } from './limits.ts'
export {
  findIssued,
  type IssuedCertificate,
  type IssuedPage,
  issuedAs,
  issuedPage,
  registerId,
  serialOf,
} from './register-store.ts'
export { type Revocation, release, revoke } from './revoke.ts'
export { newSerial } from './serial.ts'
export type { AuthoritySettings, RevocationConfig } from './settings.ts'
export { type CertificateStatus, entryOf, findBySerial, statusOf } from './status.ts'
