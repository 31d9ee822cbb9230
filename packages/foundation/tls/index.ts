/** Files of keys and certificates in the forms that people have, for services that read some of their own. */
export { pemText, privateKeyText } from '@warder/pki/pem'
export { type CipherChoice, chooseCiphers } from './cipher-suites.ts'
export { type ClientAuthorities, type IssuedUnder, issuedUnder } from './client-authorities.ts'
export { clientRefusal, type Refusal, type ServerFiles } from './client-refusal.ts'
export { type CertificatePlan, type Issued, type Issuer, issueCertificate } from './issue.ts'
export {
  ensureLocalAuthority,
  isLocalAuthorityComplete,
  type LocalAuthorityOptions,
  type LocalCertificate,
} from './local-authority.ts'
export {
  type ClientCertificate,
  clientCertificates,
  readClientCertificate,
  recordClientCertificate,
  revokeClientCertificates,
} from './local-revocation.ts'
export { peerCommonName, verifiedPeerCertificate } from './peer.ts'
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
  clientRevocation,
  type PresentedChain,
  presentedChain,
} from './revocation/client-revocation.ts'
export { type ClientCrlFiles, type ReadClientCrls, readClientCrls } from './revocation/crl-files.ts'
export type { RevokedCertificates } from './revocation/revoked-certificates.ts'
