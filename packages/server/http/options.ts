import { createHash, timingSafeEqual } from 'node:crypto'
import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls'
import type { AuditTrail } from '@warder/audit'
import type { Clock, ListenOptions, Logger, Metrics } from '@warder/base'
import type { Commit } from '@warder/storage'
import type { Authenticate, Operation } from '../operations/types.ts'
import type { ClientRevocation } from '../tls/client-revocation.ts'
import {
  type ClientAuthorities,
  getVerifiedPeerCertificate,
  type IssuedUnder,
  readPeerCommonName,
} from '../tls/peer.ts'
import type { Tracer } from '../tracing/tracer.ts'
import type { TokenBuckets } from './token-buckets.ts'

/** A partner with host names of this server that no other client may use. */
interface PartnerHost {
  /** Of `ClientAuthorities`. */
  readonly partner: string
  /** Common Names of its client certificates. */
  readonly commonNames: ReadonlySet<string>
}

/** By names of TLS (server_name, RFC 6066 §3), in lower case. */
export type PartnerHosts = ReadonlyMap<string, PartnerHost>

/**
 * The reason to end a connection after its handshake, before a request is read: it uses the host name of a partner without
 * a certificate of that partner. undefined: the connection stays.
 */
export function handshakeProblem(
  socket: TLSSocket,
  hosts: PartnerHosts,
  issued: IssuedUnder | undefined,
): string | undefined {
  const host = hosts.get(String(socket.servername).toLowerCase())
  if (host === undefined) return undefined
  const certificate = getVerifiedPeerCertificate(socket)
  if (certificate === undefined) return `no valid client certificate: ${socket.authorizationError}`
  if (issued?.partner(certificate, host.partner) !== true)
    return 'the client certificate is from another authority'
  const name = readPeerCommonName(certificate)
  return name !== undefined && host.commonNames.has(name)
    ? undefined
    : 'the client certificate has another name'
}

/** All limits of the server. Times in milliseconds, sizes in bytes. */
export interface ServerLimits {
  /** Maximum body of one request, unless its operation has a lower limit. */
  readonly bodyBytes: number
  /** Maximum memory of all request bodies of this process. */
  readonly bufferedBytes: number
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  /** Head and body of one request. */
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** For a client that reads no byte of its reply. */
  readonly idleTimeoutMs: number
  readonly handshakeTimeoutMs: number
  /** How often slow requests are searched. */
  readonly connectionsCheckingIntervalMs: number
  readonly maxConnections: number
}

export const defaultLimits: ServerLimits = {
  bodyBytes: 64 * 1024 * 1024,
  bufferedBytes: 512 * 1024 * 1024,
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  idleTimeoutMs: 300_000,
  handshakeTimeoutMs: 10_000,
  connectionsCheckingIntervalMs: 1_000,
  maxConnections: 20_000,
}

export interface ServiceServerOptions<Services> {
  readonly operations: readonly Operation<Services>[]
  readonly services: Services
  readonly authenticate: Authenticate
  /**
   * Called with the name of the operation before all other checks; throws when the operation is not served now. undefined:
   * all operations are served.
   */
  readonly admit?: ((operation: string) => Promise<void>) | undefined
  readonly audit: AuditTrail
  readonly commit: Commit
  readonly log: Logger
  /** Called with the name of each operation when its handler begins. */
  readonly onBegin?: ((operation: string) => void) | undefined
  readonly metrics: Metrics
  /** undefined = requests are not traced. */
  readonly tracer?: Tracer | undefined
  readonly clock: Clock
  readonly serviceName: string
  /** undefined = plain HTTP (behind a proxy that ends TLS). */
  readonly tls?: (SecureContextOptions & TlsOptions) | undefined
  /** Partners' authorities that `tls` trusts beside those of users. */
  readonly clientAuthorities?: ClientAuthorities | undefined
  /** Host names that are reserved for one partner: other handshakes are ended. */
  readonly partnerHosts?: PartnerHosts | undefined
  /** Checks the client certificate of each request; undefined = there are no CRLs. */
  readonly clientRevocation?: ClientRevocation | undefined
  /** Origins besides the service's own, e.g. `https://console.example`. */
  readonly corsAllowedOrigins?: readonly string[]
  readonly trustedProxyCidrs?: readonly string[]
  /** A peer that sends it in `peerSecretHeader` is trusted like one of `trustedProxyCidrs`. */
  readonly peerSecret?: string | undefined
  /** undefined = off. */
  readonly rateLimiter?: TokenBuckets | undefined
  /** false: the verb LIST is refused by node's parser. Default: it is served if an operation has it. */
  readonly listVerb?: boolean
  /** Limits that are absent have their value of `defaultLimits`. */
  readonly limits?: Partial<ServerLimits>
  /** Only for the same-origin rule: the public address when it differs from the Host header. */
  readonly baseUrl?: string
}

export interface ServiceServer {
  readonly server: HttpServer | HttpsServer
  listen(options: ListenOptions): Promise<{ readonly port: number }>
  /** Stops accepting, lets requests in flight finish, and closes the remaining connections after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
  /** New certificates and trust for new connections. A plain HTTP server refuses. */
  setTls(options: SecureContextOptions, clientAuthorities?: ClientAuthorities): void
  /** Requests that have begun and have no reply yet. */
  inFlight(): number
  /** Ends this share of the connections, 0 to 1, with their next reply: clients reconnect, possibly to another worker. */
  spread(share: number): void
}

/** Header by which services of this installation recognise each other. */
export const peerSecretHeader = 'x-warder-peer'

/** @returns a check whether a header equals the secret; without a secret it is always false */
export function createPeerSecretCheck(secret: string | undefined): (shown: unknown) => boolean {
  if (secret === undefined) return () => false
  const expected = digest(secret)
  return (shown) => typeof shown === 'string' && timingSafeEqual(digest(shown), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
