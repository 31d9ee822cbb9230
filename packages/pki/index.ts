export {
  derBitString,
  derBits,
  derContent,
  derElements,
  derIdentifier,
  derInteger,
  derMagnitude,
  derMembers,
  derNull,
  derSequence,
  derTag,
} from './der.ts'
export { PkiError, type PkiErrorCode } from './error.ts'
export {
  bytePrivateFromRaw,
  bytePublicFromRaw,
  privateFromPkcs8,
  publicFromSpki,
  requireLoadable,
  requireOwnPublicHalf,
  toRawKey,
} from './keys/asymmetric.ts'
export {
  ecPoint,
  ecPrivateFromScalar,
  ecPrivateFromSec1,
  ecPublicFromPoint,
  ecScalar,
  ecToSec1,
  type PointForm,
  requireUsable,
} from './keys/ec.ts'
export {
  type Domain,
  type DomainNumber,
  finiteFieldFromNumbers,
  finiteFieldNumbers,
} from './keys/finite-field.ts'
export {
  type ByteKeyAlgorithm,
  type ByteKeyFamily,
  byteKeyFamilies,
  type Curve,
  curveByName,
  type KeyPolicy,
  type ParsedKey,
} from './keys/key-algorithms.ts'
export { buildPkcs8, parsePkcs8, parseSpki } from './keys/pkcs8.ts'
export {
  checkRsaNumbers,
  completeRsaNumbers,
  type RsaNumbers,
  readRsaNumbers,
  requirePrimes,
  rsaMembers,
  rsaPrivateFromNumbers,
  rsaPrivateFromPkcs1,
  rsaPublicFromNumbers,
  rsaPublicFromPkcs1,
  rsaToPkcs1,
} from './keys/rsa.ts'
export { type PssParameters, pssAlgorithm, pssPrivateFromPkcs8, pssPublicFromSpki } from './keys/rsa-pss.ts'
export { derInBase64, type PemLabel, pemText, privateKeyText, withoutByteOrderMark } from './pem.ts'
export { isEncryptedPkcs8, openPkcs8 } from './pkcs12/encryption.ts'
export { type PemPair, readPkcs12Pair } from './pkcs12/pair.ts'
export { readPkcs12 } from './pkcs12/read.ts'
export { writePkcs12 } from './pkcs12/write.ts'
export { timestampRequest, tokenInResponse } from './timestamp.ts'
export { type TimestampVerdict, timestampVerdict } from './timestamp-verdict.ts'
export {
  type CertificateFields,
  certificatesOnly,
  type ParsedCertificate,
  parseCertificate,
  readCertificate,
} from './x509/certificate.ts'
export { type Crl, crlIsSignedWith, issueCrl, readCrl } from './x509/crl.ts'
export { type CrlEntry, encodeEntries, type RevocationReason, revocationReasons } from './x509/crl-entries.ts'
export {
  comparableName,
  hasForeignCharacters,
  type NamePart,
  type NameParts,
  nameFromParts,
  nameFromText,
  nameText,
  readNameParts,
} from './x509/distinguished-name.ts'
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
  readKeyIdentifier,
  readKeyUsage,
  subjectAltName,
} from './x509/extensions.ts'
export { constraintName, generalName, generalNameText, readNameConstraints } from './x509/general-name.ts'
export { type Issuer, issueCertificate } from './x509/issue.ts'
export { type Finding, lintCertificate, lintWritten } from './x509/lint/lint.ts'
export { type CertId, certIdHashes, findIssuerKey, listIssuerKeys } from './x509/ocsp/cert-id.ts'
export { type OcspRequest, ocspRequestFromPath, readOcspRequest } from './x509/ocsp/request.ts'
export {
  issueOcspResponse,
  type OcspError,
  type OcspResponder,
  type OcspStatus,
  ocspErrorResponse,
  ocspResponder,
} from './x509/ocsp/response.ts'
export { opensslExtensions } from './x509/openssl-extensions.ts'
export { findNameProblem } from './x509/path/constraints.ts'
export { maxChainLength, type PathResult, type Validity, validatePath } from './x509/path/validate.ts'
export {
  endEntityUses,
  isWithinProfile,
  type ProfileName,
  type ProfileWish,
  profileExtensions,
  profiles,
} from './x509/profiles.ts'
export { issueRequest, readCertificationRequest } from './x509/request.ts'
export {
  authorityInformationAccess,
  crlDistributionPoints,
  noRevAvail,
  readAuthorityInformationAccess,
  readCrlDistributionPoints,
  urlsIn,
} from './x509/revocation-access.ts'
export { type CertificateSigner, certificateSigner, rsaSignatureAlgorithm } from './x509/signing.ts'
