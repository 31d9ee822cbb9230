export type { ErrorSchema, Operations } from './api.gen.ts'
export {
  type ClientOptions,
  type Credentials,
  type Input,
  type KmsClient,
  kmsClient,
  type OperationName,
  type Reply,
} from './client.ts'
export { ClientError, type ClientErrorKind } from './error.ts'
export { httpsTransport, type Transport, type TransportOptions } from './transport.ts'
