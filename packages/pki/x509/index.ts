/** X.509 certificates: read requests, issue certificates, check chains. Pure: keys and dates are parameters. */
export { type CertificateFields, readCertificate } from './certificate.ts'
export { certificatesOnly } from './certificates-only.ts'
export { maxChainLength, type Validity } from './chain.ts'
export {
  comparableName,
  hasForeignCharacters,
  type NamePart,
  type NameParts,
  nameText,
  readNameParts,
} from './distinguished-name.ts'
export {
  basicConstraints,
  createExtendedKeyUsage,
  type Extension,
  extensionIdentifiers,
  type KeyUsageName,
  keyPurposes,
  keyUsage,
  readAuthorityKeyIdentifier,
  readBasicConstraints,
  readCertificateExtensions,
  readExtendedKeyUsage,
  readExtensions,
  readKeyIdentifier,
  readKeyUsage,
  subjectAltName,
} from './extensions.ts'
export {
  constraintName,
  directoryName,
  generalName,
  generalNameText,
  spiffeName,
} from './general-name.ts'
export { type Issuer, issueCertificate, type NewCertificate, randomSerial } from './issue.ts'
export { nameFromParts } from './name.ts'
export { type NewNameConstraints, nameConstraints, readNameConstraints } from './name-constraints.ts'
export { nameFromText } from './name-from-text.ts'
export { opensslExtensions } from './openssl-extensions.ts'
export { type ParsedCertificate, parseCertificate } from './parsed-certificate.ts'
export { certificatePolicies } from './policies.ts'
export {
  endEntityUses,
  isWithinProfile,
  keyCapability,
  type Profile,
  type ProfileName,
  type ProfileWish,
  profileExtensions,
  profiles,
} from './profiles.ts'
export { type CertificationRequest, readCertificationRequest } from './request.ts'
export { issueRequest } from './request-write.ts'
export {
  type AuthorityAccess,
  authorityInformationAccess,
  crlDistributionPoints,
  noRevAvail,
  ocspNoCheck,
  readAuthorityInformationAccess,
  readCrlDistributionPoints,
  urlsIn,
} from './revocation-access.ts'
export { type RevocationReason, revocationReasons } from './revocation-reasons.ts'
export { type CertificateSigner, certificateSigner, rsaSignatureAlgorithm } from './signing.ts'
