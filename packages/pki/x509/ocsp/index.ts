/**
 * The online certificate status protocol (RFC 6960, RFC 5019, RFC 8954): requests and responses of servers and
 * clients. The caller provides transport, storage and caching.
 */
export {
  type CertId,
  type CertIdHash,
  type CertIdIssuer,
  certIdHashes,
  createCertId,
  findIssuerKey,
  isFromIssuer,
  listIssuerKeys,
} from './cert-id.ts'
export { maxOcspResponseBytes, type OcspResponse, readOcspResponse } from './read-response.ts'
export {
  maxCertIds,
  maxOcspRequestBytes,
  type OcspRequest,
  ocspRequest,
  ocspRequestFromPath,
  readOcspRequest,
} from './request.ts'
export {
  issueOcspResponse,
  type NewOcspResponse,
  type OcspAnswer,
  type OcspError,
  type OcspResponder,
  type OcspStatus,
  ocspErrorResponse,
  ocspErrors,
  ocspResponder,
} from './response.ts'
export { type OcspQuestion, type OcspVerdict, ocspVerdict } from './verdict.ts'
