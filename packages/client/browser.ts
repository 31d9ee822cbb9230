import { type AuthClient, type AuthClientOptions, authClientOver } from './auth-client.ts'
import { fetchTransport } from './fetch-transport.ts'
import { type KmsClient, type KmsClientOptions, kmsClientOver } from './kms-client.ts'

export {
  type AuthClient,
  type AuthClientOptions,
  type AuthCredentials,
  type AuthInput,
  type AuthOperationName,
  type AuthOperations,
  type AuthReply,
  ClientError,
  type ClientErrorKind,
  type ClientOptions,
  type Credentials,
  type ErrorSchema,
  fromBase64Url,
  type Input,
  type InputOf,
  type KmsClient,
  type KmsClientOptions,
  type LoginRequest,
  type LoginStep,
  type OperationName,
  type Operations,
  type PagedName,
  type Reply,
  type ReplyOf,
  type ServiceClient,
  type Transport,
  type TransportOptions,
  toBase64Url,
} from './shared.ts'

// Entry of `@warder/client` for browser bundlers: it imports no module of Node.
const network = { transport: fetchTransport, keepsCookies: true }

/** A client of the key management service. @throws TypeError for options that cannot be used */
export function kmsClient(options: KmsClientOptions): KmsClient {
  return kmsClientOver(network, options)
}

/** A client of the authentication service. @throws TypeError for options that cannot be used */
export function authClient(options: AuthClientOptions): AuthClient {
  return authClientOver(network, options)
}
