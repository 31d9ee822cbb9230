export { type CipherChoice, chooseCiphers } from './cipher-suites.ts'
export { type ClientAuthorities, type IssuedUnder, issuedUnder } from './client-authorities.ts'
export { clientRefusal, type Refusal, type ServerFiles } from './client-refusal.ts'
export { type CertificatePlan, type Issued, type Issuer, issueCertificate } from './issue.ts'
export { ensureLocalAuthority, type LocalAuthorityOptions, type LocalCertificate } from './local-authority.ts'
export { peerCommonName, verifiedPeerCertificate } from './peer.ts'
export {
  type AuthoritiesFile,
  newTicketKeys,
  readAuthorities,
  type TlsFiles,
  type TlsProfile,
  tlsProfile,
} from './profile.ts'
