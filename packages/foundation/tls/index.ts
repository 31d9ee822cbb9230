/** Files of keys and certificates in the forms that people have, for services that read some of their own. */
export { pemText, privateKeyText } from '@warder/pki/pem'
export { type CipherChoice, chooseCiphers } from './cipher-suites.ts'
export { type ClientAuthorities, createIssuedUnder, type IssuedUnder } from './client-authorities.ts'
export { findClientRefusal, type Refusal, type ServerFiles } from './client-refusal.ts'
export { type CertificatePlan, type IssuedCertificate, type Issuer, issueCertificate } from './issue.ts'
export {
  ensureLocalAuthority,
  isLocalAuthorityComplete,
  type LocalAuthorityOptions,
  type LocalCertificate,
} from './local-authority.ts'
export {
  type ClientCertificate,
  listClientCertificates,
  readClientCertificate,
  recordClientCertificate,
  revokeClientCertificates,
} from './local-revocation.ts'
export { getVerifiedPeerCertificate, readPeerCommonName } from './peer.ts'
export {
  type AuthoritiesFile,
  checkSuites,
  newTicketKeys,
  readAuthorities,
  readPair,
  type TlsFiles,
  type TlsProfile,
  tlsProfile,
  underCrls,
} from './profile.ts'
export {
  type ClientRevocation,
  createClientRevocation,
  listPresentedChain,
  type PresentedChain,
} from './revocation/client-revocation.ts'
export { type ClientCrlFiles, type ReadClientCrls, readClientCrls } from './revocation/crl-files.ts'
export type { RevokedCertificates } from './revocation/revoked-certificates.ts'
