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
} from './asn1/der.ts'
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
export { type ByteKeyAlgorithm, type ByteKeyFamily, byteKeyFamilies } from './keys/byte-key-families.ts'
export { type Curve, curveByName } from './keys/curves.ts'
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
export type { KeyPolicy, ParsedKey } from './keys/parsed-key.ts'
export { buildPkcs8, parsePkcs8, parseSpki } from './keys/pkcs8.ts'
export {
  completeRsaNumbers,
  readRsaNumbers,
  rsaPrivateFromNumbers,
  rsaPrivateFromPkcs1,
  rsaPublicFromNumbers,
  rsaPublicFromPkcs1,
  rsaToPkcs1,
} from './keys/rsa.ts'
export { checkRsaNumbers, type RsaNumbers, requirePrimes, rsaMembers } from './keys/rsa-numbers.ts'
export { type PssParameters, pssAlgorithm, pssPrivateFromPkcs8, pssPublicFromSpki } from './keys/rsa-pss.ts'
export { derInBase64, type PemLabel, pemText, privateKeyText, withoutByteOrderMark } from './pem/pem-text.ts'
export { isEncryptedPkcs8, openPkcs8 } from './pkcs12/encrypted-pkcs8.ts'
export { readPkcs12 } from './pkcs12/read.ts'
export { writePkcs12 } from './pkcs12/write.ts'
export { timestampRequest } from './timestamp/request.ts'
export { tokenInResponse } from './timestamp/token.ts'
export { type TimestampVerdict, timestampVerdict } from './timestamp/verdict.ts'
export { type CertificateFields, readCertificate } from './x509/certificate.ts'
export { certificatesOnly } from './x509/certificates-only.ts'
export { type CrlEntry, encodeEntries } from './x509/crl/entries.ts'
export { type Crl, crlIsSignedWith, readCrl } from './x509/crl/read.ts'
export { issueCrl } from './x509/crl/write.ts'
export {
  comparableName,
  hasForeignCharacters,
  type NamePart,
  type NameParts,
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
export { constraintName, generalName, generalNameText } from './x509/general-name.ts'
export { type Issuer, issueCertificate } from './x509/issue.ts'
export { type Finding, lintCertificate, lintWritten } from './x509/lint/lint.ts'
export { nameFromParts } from './x509/name.ts'
export { readNameConstraints } from './x509/name-constraints.ts'
export { nameFromText } from './x509/name-from-text.ts'
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
export { type ParsedCertificate, parseCertificate } from './x509/parsed-certificate.ts'
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
export { readCertificationRequest } from './x509/request.ts'
export { issueRequest } from './x509/request-write.ts'
export {
  authorityInformationAccess,
  crlDistributionPoints,
  noRevAvail,
  readAuthorityInformationAccess,
  readCrlDistributionPoints,
  urlsIn,
} from './x509/revocation-access.ts'
export { type RevocationReason, revocationReasons } from './x509/revocation-reasons.ts'
export { type CertificateSigner, certificateSigner, rsaSignatureAlgorithm } from './x509/signing.ts'
