export { type AddressSet, addressSet, parseCidr, unknownClient } from './http/client-address.ts'
export { type SweptConnection, startIdleSweep } from './http/connections.ts'
export { documentationOperations } from './http/documentation.ts'
export { mergeAuditFields } from './http/exchange.ts'
export {
  createHealthCheck,
  databaseDown,
  Health,
  type HealthPart,
  healthOperation,
  toSealedHealth,
  toUnreachableHealth,
} from './http/health.ts'
export {
  createPeerSecretCheck,
  type PartnerHosts,
  peerSecretHeader,
  type ServiceServer,
} from './http/options.ts'
export {
  bearerToken,
  errorBody,
  type PreparedReply,
  pageReply,
  prepareFailure,
  prepareReply,
  rawReply,
  responseHeaders,
} from './http/reply.ts'
export { RequestBatcher } from './http/request-batcher.ts'
export { createServiceServer } from './http/server.ts'
export {
  bucketKey,
  createTokenBuckets,
  type TokenBuckets,
  tokenBucketMemory,
} from './http/token-buckets.ts'
export { isUnsealRequest, type UnsealProgress, unsealOperation } from './http/unseal.ts'
export { compileCheck } from './http/validation.ts'
export {
  type ExpectedToken,
  getKeyAlgorithms,
  jwsAlgorithms,
  jwsAlgorithmsOnce,
  type KeySet,
  serviceAccountAlgorithms,
  type VerificationKey,
  verifySignature,
} from './jwt/algorithms.ts'
export {
  createInlineKeySet,
  createRemoteKeySet,
  openFileKeySet,
  publicJwk,
  thumbprint,
} from './jwt/key-sets.ts'
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
export {
  defineOperation,
  del,
  fromProbes,
  get,
  list,
  methods,
  patch,
  post,
  put,
} from './operations/define.ts'
export { type DocumentedCredentials, openApiDocument, type SecurityScheme } from './operations/openapi.ts'
export type { Effect } from './operations/reach.ts'
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
export { findClientRefusal, type ServerPair } from './tls/client-refusal.ts'
export {
  type ClientRevocation,
  createClientRevocation,
  listPresentedChain,
  type ReadClientCrls,
  type RevokedCertificates,
  readClientCrls,
} from './tls/client-revocation.ts'
export {
  ensureLocalAuthority,
  isLocalAuthorityComplete,
  issueCertificate,
  type LocalAuthorityOptions,
  type LocalCertificate,
} from './tls/local-authority.ts'
export {
  type ClientCertificate,
  findClientRevocations,
  listClientCertificates,
  listLocalRevocations,
  readClientCertificate,
  recordClientCertificate,
  revokeClientCertificates,
} from './tls/local-revocation.ts'
export { type ClientAuthorities, getVerifiedPeerCertificate, readPeerCommonName } from './tls/peer.ts'
export {
  type AuthoritiesFile,
  checkSuites,
  chooseCiphers,
  getPkcs12File,
  newTicketKeys,
  type Pkcs12Settings,
  readAuthorities,
  readPair,
  tlsProfile,
  underCrls,
} from './tls/profile.ts'
export { startOtlpExport } from './tracing/otlp-metrics.ts'
export { startTracing } from './tracing/otlp-traces.ts'
export { traceDatabase } from './tracing/traced-database.ts'
export type { Tracer } from './tracing/tracer.ts'
