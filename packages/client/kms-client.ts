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

/** Credentials of the caller. A client certificate may be combined with either token. */
export interface Credentials {
  /** A JWT of the authentication service or of a trusted issuer, an API token, or a machine token. */
  readonly bearer?: string | undefined
  /** A machine token, sent as `X-Secret-Token`. */
  readonly secretToken?: string | undefined
  /** PEM of a certificate and its private key. Not in a browser, which manages its own certificates. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

export interface KmsClientOptions extends ClientOptions {
  /** Without credentials: in a browser, the session of the web pages of the service. */
  readonly credentials?: Credentials
}

/** The key management service. */
export type KmsClient = ServiceClient<Operations>

const repeatable: ReadonlySet<string> = new Set(['crypto.decrypt', 'crypto.verify', 'crypto.mac'])

/**
 * @throws TypeError when the address is not https, a token is invalid in a header, the authority is not a
 *   certificate, or the key does not match the client certificate
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
