export { acmeOperations, sweepAcme } from './acme/acme-operations.ts'
export { type AcmeEnvironment, type AcmeServices, acmeErrors } from './acme/environment.ts'
export { requireCertifiableKey, requirePermittedKey } from './acme/finalize.ts'
export { nonceKey } from './acme/nonce-store.ts'
export { createNonces } from './acme/nonces.ts'
export { createProbes } from './acme/probes.ts'
export { buildAddresses } from './addresses.ts'
export {
  type Authority,
  authoritySigner,
  certificateSign,
  findAuthority,
  openAuthority,
} from './authority.ts'
export { keepsCertificate } from './certificate-object.ts'
export { stageCompromisedKey } from './compromised-key-store.ts'
export { dueIssuers, type StoredCrl } from './crl/crl-store.ts'
export { createFetchedCrls, type FetchedCrls } from './crl/fetched-crls.ts'
export { listsInWork, maySignCrl } from './crl/make-crl.ts'
export { withPkiFailures } from './failures.ts'
export { chooseIssuer } from './issuance/issuer.ts'
export { type CertificateToKeep, stageCertificate } from './issuance/stage-certificate.ts'
export { type CertificateSubject, findSubject, readSubject } from './issuance/subject.ts'
export { type IssueRequest, issue, requestLike } from './issue.ts'
export { pathLengthLeft } from './limits.ts'
export { createMaintenance, type Maintenance } from './maintenance.ts'
export type { OcspReply } from './ocsp/answers.ts'
export { readAlternativeNames } from './profile-limits.ts'
export { createPublishedStatus, type PublishedStatus } from './published-status.ts'
export {
  type AuthorityState,
  findIssuers,
  maxCounted,
  possibleIssuers,
  readAuthorityState,
  type StoredAuthority,
  visibleAuthorities,
} from './register/authority-store.ts'
export { issuerId } from './register/certificates.ts'
export {
  fillClientNames,
  findIssued,
  findIssuedCertificate,
  type IssuedCertificate,
  type ListedEntry,
  listIssued,
  toSerial,
} from './register/register-store.ts'
export type { AuthoritySettings, RevocationConfig } from './register/settings.ts'
export { isRenewedWithCertificate, type RenewalServices, renewDue } from './renewal/renew-due.ts'
export { renewablePage } from './renewal/renewable-store.ts'
export { readRenewable, stageRenewal } from './renewal/stage-renewal.ts'
export { release, revoke } from './revoke.ts'
export { exportSpki, openForIssuing, stageAuthority, stageRoot } from './root.ts'
export { findBySerial, findRegisterEntry, toStatus } from './status.ts'
