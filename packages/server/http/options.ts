import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { SecureContextOptions, TlsOptions } from 'node:tls'
import type { AuditTrail } from '@warder/audit'
import type { Clock, ListenOptions, Logger, Metrics } from '@warder/base'
import type { Commit } from '@warder/storage'
import type { Authenticate, Operation } from '../operations/types.ts'
import type { ClientAuthorities } from '../tls/client-authorities.ts'
import type { ClientRevocation } from '../tls/revocation/client-revocation.ts'
import type { Tracer } from '../tracing/tracer.ts'
import type { PartnerHosts } from './partner-hosts.ts'
import type { TokenBuckets } from './rate-limit/token-buckets.ts'

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
  /** false: the verb LIST is refused by node's parser. Default: it is served where an operation has it. */
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
