import { type Operations, routes } from './api.gen.ts'
import {
  type ClientOptions,
  type InputOf,
  type ReplyOf,
  type ServiceClient,
  serviceClient,
  tokenHeaders,
} from './service-client.ts'
import type { Network } from './transport.ts'

export type OperationName = keyof Operations
export type Input<Name extends OperationName> = InputOf<Operations, Name>
export type Reply<Name extends OperationName> = ReplyOf<Operations, Name>

/** How the caller proves who they are. A client certificate may come with either token. */
export interface Credentials {
  /** A JWT: of the authentication service, or of a trusted issuer; or an API token, or a machine token. */
  readonly bearer?: string | undefined
  /** A machine token, sent as `X-Secret-Token`. */
  readonly secretToken?: string | undefined
  /** PEM of a certificate and of its private key. Not in a browser, which has certificates of its own. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

export interface KmsClientOptions extends ClientOptions {
  /** Without any: in a browser the session of the pages of the service. */
  readonly credentials?: Credentials
}

/** The key management service. */
export type KmsClient = ServiceClient<Operations>

const repeatable: ReadonlySet<string> = new Set(['crypto.decrypt', 'crypto.verify', 'crypto.mac'])

/**
 * @throws TypeError when the address is not https, a token cannot be sent in a header, the authority is no certificate,
 * or the client certificate and its key are no pair
 */
export function kmsClientOver(network: Network, options: KmsClientOptions): KmsClient {
  const { certificate, ...tokens } = options.credentials ?? {}
  const identity = tokenHeaders(tokens)
  const sendCookies = Object.keys(identity).length === 0
  return serviceClient<Operations>(network, options, {
    routes,
    repeatable,
    identity,
    certificate,
    sendCookies,
  }).client
}
