export { documentationOperations } from './http/documentation.ts'
export { mergeAuditFields } from './http/exchange.ts'
export { bearerToken, responseHeaders } from './http/headers.ts'
export { databaseDown, type HealthPart, healthOperation, unreachableDatabase } from './http/health.ts'
export { parseJsonBody } from './http/json-body.ts'
export type { ServiceServer } from './http/options.ts'
export type { PartnerHosts } from './http/partner-hosts.ts'
export { createPeerSecretCheck, peerSecretHeader } from './http/peer-secret.ts'
export {
  bucketKey,
  createTokenBuckets,
  type TokenBuckets,
  tokenBucketMemory,
} from './http/rate-limit/token-buckets.ts'
export { errorBody, pageReply, prepareFailure, prepareReply, rawReply } from './http/reply.ts'
export { createServiceServer } from './http/server.ts'
export { compileCheck } from './http/validation.ts'
export {
  getKeyAlgorithms,
  jwsAlgorithms,
  jwsAlgorithmsOnce,
  serviceAccountAlgorithms,
  verifySignature,
} from './jwt/algorithms.ts'
export { publicJwk, thumbprint } from './jwt/jwk.ts'
export { createInlineKeySet, createRemoteKeySet, openFileKeySet } from './jwt/key-sets.ts'
export { parseStrictObject } from './jwt/strict-json.ts'
export {
  decodeBase64Url,
  encodeJsonSegment,
  JwtRejected,
  PeekedToken,
  peekToken,
  readCompact,
  signCompact,
  signToken,
  verifyToken,
} from './jwt/token.ts'
export { createTokenCache, type TokenCache } from './jwt/token-cache.ts'
export type { ExpectedToken, KeySet, VerificationKey } from './jwt/types.ts'
export { type AddressSet, addressSet, parseCidr, unknownClient } from './net/client-address.ts'
export { type SweptConnection, startIdleSweep } from './net/idle-sweep.ts'
export { RequestBatcher } from './net/request-batcher.ts'
export { defineOperation, fromProbes } from './operations/define.ts'
export { type DocumentedCredentials, openApiDocument, type SecurityScheme } from './operations/openapi.ts'
export type { Effect } from './operations/reach.ts'
export { del, get, list, methods, patch, post, put } from './operations/route.ts'
export type {
  Access,
  AuditFields,
  Authenticate,
  AuthenticationContext,
  Caller,
  ErrorShape,
  HttpMethod,
  IncomingRequest,
  LargeBody,
  Operation,
  OperationContext,
  OperationInput,
  Principal,
  PublicError,
  RawReply,
} from './operations/types.ts'
export { chooseCiphers } from './tls/cipher-suites.ts'
export type { ClientAuthorities } from './tls/client-authorities.ts'
export { findClientRefusal, type ServerFiles } from './tls/client-refusal.ts'
export { issueCertificate } from './tls/issue.ts'
export {
  ensureLocalAuthority,
  isLocalAuthorityComplete,
  type LocalAuthorityOptions,
  type LocalCertificate,
} from './tls/local-authority.ts'
export {
  type ClientCertificate,
  listClientCertificates,
  readClientCertificate,
  recordClientCertificate,
  revokeClientCertificates,
} from './tls/local-revocation.ts'
export { getVerifiedPeerCertificate, readPeerCommonName } from './tls/peer.ts'
export {
  type AuthoritiesFile,
  checkSuites,
  newTicketKeys,
  readAuthorities,
  readPair,
  tlsProfile,
  underCrls,
} from './tls/profile.ts'
export {
  type ClientRevocation,
  createClientRevocation,
  listPresentedChain,
} from './tls/revocation/client-revocation.ts'
export { type ReadClientCrls, readClientCrls } from './tls/revocation/crl-files.ts'
export type { RevokedCertificates } from './tls/revocation/revoked-certificates.ts'
export { startOtlpExport } from './tracing/otlp-metrics.ts'
export { startTracing } from './tracing/start-tracing.ts'
export { traceDatabase } from './tracing/traced-database.ts'
export type { Tracer } from './tracing/tracer.ts'
