export { acmeOperations } from './acme/acme-operations.ts'
export { requireCertifiableKey, requirePermittedKey } from './acme/certificate/finalize.ts'
export { createProbes } from './acme/probes/probes.ts'
export { acmeErrors } from './acme/protocol/errors.ts'
export { nonceKey } from './acme/protocol/nonce-store.ts'
export { createNonces } from './acme/protocol/nonces.ts'
export type { AcmeServices } from './acme/protocol/services.ts'
export type { AcmeEnvironment } from './acme/request/environment.ts'
export { sweepAcme } from './acme/sweep.ts'
export { buildAddresses } from './addresses.ts'
export { stageCompromisedKey } from './compromised-key-store.ts'
export { dueIssuers, type StoredCrl } from './crl/crl-store.ts'
export { createFetchedCrls, type FetchedCrls } from './crl/fetched-crls.ts'
export { listsInWork } from './crl/make-crl.ts'
export { maySignCrl } from './crl/may-sign-crl.ts'
export { withPkiFailures } from './failures.ts'
export { chooseIssuer } from './issuance/issuer.ts'
export { type CertificateToKeep, stageCertificate } from './issuance/stage-certificate.ts'
export { type CertificateSubject, findSubject, readSubject } from './issuance/subject.ts'
export { type IssueRequest, issue } from './issue.ts'
export { pathLengthLeft } from './limits.ts'
export { keepsCertificate } from './links.ts'
export { createMaintenance, type Maintenance } from './maintenance.ts'
export type { OcspReply } from './ocsp/answers.ts'
export { readAlternativeNames } from './profile-limits.ts'
export { createPublishedStatus, type PublishedStatus } from './published-status.ts'
export { type StoredAuthority, visibleAuthorities } from './register/authority-store.ts'
export { issuerId } from './register/issuer-id.ts'
export { possibleIssuers } from './register/issuers-of.ts'
export {
  findIssued,
  findIssuedCertificate,
  type IssuedCertificate,
  type ListedEntry,
  listIssued,
  toSerial,
} from './register/register-store.ts'
export type { AuthoritySettings, RevocationConfig } from './register/settings.ts'
export { requestLike } from './renew.ts'
export { isRenewedWithCertificate, type RenewalServices, renewDue } from './renewal/renew-due.ts'
export { renewablePage } from './renewal/renewable-store.ts'
export { readRenewable, stageRenewal } from './renewal/stage-renewal.ts'
export { release, revoke } from './revoke.ts'
export { exportSpki, openForIssuing, stageAuthority, stageRoot } from './root.ts'
export {
  type Authority,
  authoritySigner,
  certificateSign,
  findAuthority,
  openAuthority,
} from './signing/authority.ts'
export { findBySerial, findRegisterEntry, toStatus } from './status.ts'
