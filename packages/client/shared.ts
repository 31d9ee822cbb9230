// Exports of both entries of the package besides the clients: for Node (`index.ts`) and for browsers (`browser.ts`).
export type { ErrorSchema, Operations } from './api.gen.ts'
export type { Operations as AuthOperations } from './auth.gen.ts'
export type {
  AuthClient,
  AuthClientOptions,
  AuthCredentials,
  AuthInput,
  AuthOperationName,
  AuthReply,
  LoginRequest,
  LoginStep,
} from './auth-client.ts'
export { fromBase64Url, toBase64Url } from './base64url.ts'
export { ClientError, type ClientErrorKind } from './error.ts'
export type { Credentials, Input, KmsClient, KmsClientOptions, OperationName, Reply } from './kms-client.ts'
export type { ClientOptions, InputOf, PagedName, ReplyOf, ServiceClient } from './service-client.ts'
export type { Transport, TransportOptions } from './transport.ts'
