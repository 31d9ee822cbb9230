import type { MessagePort } from 'node:worker_threads'
import type { AuditTrail } from '@warder/audit'
import type { Clock, Counters, Logger, Metrics, Secret } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import type {
  Authenticate,
  AuthoritiesFile,
  ClientRevocation,
  DocumentedCredentials,
  HealthPart,
  Operation,
  PartnerHosts,
  TokenBuckets,
  Tracer,
} from '@warder/server'
import type { Database, Migration, RestoredBackup, Seal } from '@warder/storage'
import type { ChangedSetting } from '../config/changed-settings.ts'
import type { NoticeConfig } from '../config/notice-settings.ts'
import type { SettingsTable } from '../config/setting.ts'
import type { NoticeDefinition } from '../notices/notices.ts'
import type { ServiceLaunch } from './launch.ts'
import type { TlsMaterial, TlsMaterials } from './messages.ts'

/** Everything that the runtime provides to a service, in the primary and again in each worker. */
export interface ServiceEnvironment<Config> {
  readonly config: Config
  /** `WARDER_HOME`, absolute. */
  readonly home: string
  /** `https://host:port` as bound (the chosen port when 0 was asked for). Known in workers, not yet in `prepare`. */
  readonly baseUrl: string
  readonly db: Database
  readonly seal: Seal
  readonly audit: AuditTrail
  readonly outbound: Outbound
  readonly log: Logger
  readonly metrics: Metrics
  /** For requests that do not come over HTTP. Known in workers, if the settings enable traces. */
  readonly tracer?: Tracer | undefined
  readonly clock: Clock
  readonly node: string
  /** Parts that `/health` checks. Set in workers. */
  readonly health?: readonly HealthPart[] | undefined
  /** For reports. Known in workers. */
  readonly inForce?: InForce | undefined
  /** Sent only to services of this installation, which then trust the forwarded client address. */
  readonly peerSecret?: Secret | undefined
  /** Token buckets that the workers share, `sharedRateSlots` of them, for rate limits of the service's own. Known in workers. */
  readonly rateMemory?: SharedArrayBuffer | undefined
  /** Known in workers, if the service shares something with them (`ServiceDefinition.share`). */
  readonly shared?: MessagePort | undefined
  /** Known in `prepare` of the first start after a restore, until one has come to its end. */
  readonly restored?: RestoredBackup | undefined
}

/** What a worker serves with. */
interface InForce {
  readonly settings: readonly ChangedSetting[]
  certificates(): TlsMaterials
  /** false: a restart could not open the database with the root key. */
  isRootKeyUsable(): boolean
}

export interface PeriodicWork<Config> {
  readonly name: string
  readonly everySeconds: number
  /** Whether there is something to do: asked first on every node, so that idle nodes write nothing. Default: always. */
  due?(environment: ServiceEnvironment<Config>): Promise<boolean>
  /** Runs in the primary, on one node at a time. */
  run(environment: ServiceEnvironment<Config>): Promise<void>
}

/** Work that runs until the service stops. */
interface BackgroundWork {
  stop(): Promise<void>
}

/** What the primary of a service shares with its workers. */
export interface Shared {
  /** A port for one worker, which is transferred to it. */
  connect(): MessagePort
  /** Called when no worker runs any more. */
  close(): Promise<void>
}

/** A listener of a service beside its HTTPS one, on a port of its own, inside one worker. */
export interface ServiceSocket {
  listen(place: {
    readonly host: string
    readonly port: number
    readonly reusePort: boolean
  }): Promise<{ readonly port: number }>
  /** New certificates and trust for new connections. */
  setTls(tls: TlsMaterial): void
  /** Stops accepting, finishes running requests, and aborts the remaining ones after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
}

/** Options of such a listener. */
interface SocketOptions {
  /** Requires client certificates. */
  readonly tls: TlsMaterial
  /** The rate limiter of HTTPS, since a peer has one rate for all protocols. undefined = no limit. */
  readonly rateLimiter: TokenBuckets | undefined
  /** Checks the client's certificate for each message. */
  readonly clientRevocation: ClientRevocation
}

/** Configured address of such a listener. Its clients need certificates of the client authority. */
export interface SocketEndpoint {
  /** For people, in messages. */
  readonly name: string
  readonly host: string
  /** 0 = any free one. */
  readonly port: number
}

/** A running service inside one worker. */
export interface ServiceInstance<Services> {
  readonly services: Services
  readonly authenticate: Authenticate
  readonly operations: readonly Operation<Services>[]
  /** For the OpenAPI document, of a service that does not make it itself. */
  readonly credentials?: DocumentedCredentials
  /** See `ServiceServerOptions.admit`. */
  readonly admit?: ((operation: string) => Promise<void>) | undefined
  /** See `ServiceServerOptions.partnerHosts`. */
  readonly partnerHosts?: PartnerHosts | undefined
  /** Creates the listener at the address in `ServiceDefinition.socket`. */
  socket?(options: SocketOptions): ServiceSocket
  close?(): Promise<void>
}

/** The database of a service, opened for reading before a start continues. */
interface StoredState<Config> {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  /** Unix milliseconds. */
  readonly now: number
  /** undefined = the first start creates it. */
  readonly database: { readonly db: Database; readonly seal: Pick<Seal, 'open'> } | undefined
}

/** A service, as the runtime starts it. */
export interface ServiceDefinition<Config = never, Services = never> {
  /** Of its database, certificates, environment variables and records: lower-case letters, digits and dashes. */
  readonly name: string
  readonly settings: SettingsTable
  readonly migrations: readonly Migration[]
  /** Its counters beside those of every service: they exist at 0 from the start. */
  readonly counters?: Counters
  /** Its events for receivers of notices; its settings then contain `noticeSettings`. undefined = it has none. */
  readonly notices?: NoticeDefinition<Config & NoticeConfig>
  /**
   * Refuses settings, and warns of others; nothing is opened or written. In the primary before anything is opened, and
   * for the commands that check the settings.
   * @throws StartupError
   */
  check?(
    environment: Pick<ServiceEnvironment<Config>, 'config' | 'home' | 'baseUrl' | 'clock' | 'log'>,
  ): Promise<void>
  /**
   * Refuses settings that the database does not permit; nothing is written. In the primary before `prepare`, and for the
   * command that checks a start.
   * @throws StartupError
   */
  checkStored?(stored: StoredState<Config>): Promise<void>
  /**
   * Connects to the external systems of the settings. Called by the command that checks a start, and once after a start,
   * which it neither delays nor ends.
   * @returns a sentence for each unusable system
   */
  probe?(
    environment: Pick<ServiceEnvironment<Config>, 'config' | 'home' | 'outbound'> & {
      /** false: for the command. */
      readonly isRunning: boolean
    },
  ): Promise<readonly string[]>
  /** In the primary, once, after migrations and before any worker: first-run bootstrap. Returns lines to show once. */
  prepare(environment: ServiceEnvironment<Config>): Promise<{ readonly notices: readonly string[] }>
  /** Registers metrics of the whole service, in the primary. */
  measure?(environment: ServiceEnvironment<Config>): void
  /** In the primary, before any worker. undefined = nothing is shared. */
  share?(environment: ServiceEnvironment<Config>): Shared | undefined
  /** In each worker. */
  build(environment: ServiceEnvironment<Config>): Promise<ServiceInstance<Services>>
  readonly periodic: readonly PeriodicWork<Config>[]
  /** PEM files of authorities of partners by their names (`ClientAuthorities`), each with the setting that names it. */
  partners?(config: Config): Readonly<Record<string, AuthoritiesFile>>
  /** In the primary of each node, once the workers serve; the service is ready when it returns. undefined = nothing to do. */
  background?(environment: ServiceEnvironment<Config>): Promise<BackgroundWork | undefined>
  /** Address of the listener beside HTTPS; undefined = none. Called only if there is TLS and a client authority. */
  socket?(config: Config): SocketEndpoint | undefined
  /** In the primary: the same listener while the service is sealed, which refuses every request. */
  sealedSocket?(
    options: Omit<SocketOptions, 'rateLimiter'> &
      Pick<ServiceEnvironment<unknown>, 'clock' | 'log' | 'metrics'>,
  ): Promise<ServiceSocket>
}

/** A service as its module declares it. */
export async function loadDefinition(
  launch: Pick<ServiceLaunch, 'module' | 'exportName'>,
): Promise<ServiceDefinition<unknown, unknown>> {
  const module = (await import(launch.module)) as Record<string, ServiceDefinition<unknown, unknown>>
  const definition = module[launch.exportName]
  if (definition === undefined) throw new Error(`${launch.module} exports no ${launch.exportName}`)
  return definition
}
