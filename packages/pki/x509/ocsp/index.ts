/**
 * The online certificate status protocol (RFC 6960, RFC 5019, RFC 8954): read requests and answer them, ask, and check
 * answers. Transport, storage and caching are the caller's.
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
