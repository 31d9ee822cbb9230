/**
 * Certificate authorities: they issue certificates of profiles within their limits, keep the register of issued
 * certificates, and publish revocations. Independent of protocols; an operation stages its changes in a unit of work,
 * which the front end commits.
 */
export { buildAddresses } from './addresses.ts'
export { readAlternativeNames } from './alternative-names.ts'
export { requireNotCompromised, stageCompromisedKey } from './compromised-key-store.ts'
export type { StoredCrl } from './crl/crl-store.ts'
export { createFetchedCrls, type FetchedCrls } from './crl/fetched-crls.ts'
export { maySignCrl } from './crl/may-sign-crl.ts'
export { withPkiFailures } from './failures.ts'
export {
  type Issued,
  type IssueRequest,
  type IssueServices,
  issue,
} from './issue.ts'
export { pathLengthLeft } from './limits.ts'
export { keepsCertificate } from './links.ts'
export { createMaintenance, type Maintenance, type MaintenanceServices } from './maintenance.ts'
export type { OcspReply } from './ocsp/answers.ts'
export { createPublishedStatus, type PublishedStatus } from './published-status.ts'
export { type StoredAuthority, visibleAuthorities } from './register/authority-store.ts'
export { issuerId } from './register/issuer-id.ts'
export {
  findIssued,
  findIssuedCertificate,
  type IssuedCertificate,
  type IssuedPage,
  type ListedEntry,
  listIssued,
  registerId,
  toSerial,
} from './register/register-store.ts'
export type { AuthoritySettings, RevocationConfig } from './register/settings.ts'
export { requestLike } from './renew.ts'
export { type Revocation, release, revoke } from './revoke.ts'
export {
  type AuthorityCertificate,
  exportSpki,
  type NewRoot,
  openForIssuing,
  stageAuthority,
  stageRoot,
} from './root.ts'
export {
  type Authority,
  authoritySigner,
  certificateSign,
  findAuthority,
  openAuthority,
} from './signing/authority.ts'
export { type CertificateStatus, findBySerial, findRegisterEntry, toStatus } from './status.ts'
