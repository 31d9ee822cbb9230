import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditFailureMode } from '@warder/audit'
import { describeWriteError } from '@warder/base'
import type { OutboundSettings } from '@warder/outbound'
import type { LocalCertificate, Pkcs12Settings } from '@warder/server'
import type { RootKey, RootKeyProvider, SharedRootKey } from '@warder/storage'
import type { ChangedSetting } from '../config/changed-settings.ts'
import type { FipsConfig } from '../fips/provider.ts'

/** The common settings that the runtime itself reads (see `foundationSettings`). */
export interface RuntimeConfig extends FipsConfig, OutboundSettings, Pkcs12Settings {
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly plaintext_http: boolean
  readonly tls_cert_file: string | undefined
  readonly tls_key_file: string | undefined
  /** Of services that listen beside HTTPS. */
  readonly socket_server_rsa_cert_file?: string | undefined
  readonly socket_server_rsa_key_file?: string | undefined
  readonly tls_cipher_suites: string | undefined
  readonly clients_ca_cert_file: string | undefined
  readonly clients_crl_files: readonly string[]
  readonly clients_crl_failure_mode: 'continue' | 'reject'
  readonly database_url: string | undefined
  readonly database_password_file: string | undefined
  readonly database_read_connections: number
  readonly database_write_connections: number
  readonly database_connect_timeout_ms: number | undefined
  readonly database_statement_timeout_ms: number
  readonly database_migration_timeout_ms: number
  readonly database_wait_ms: number | undefined
  /** One of `localRootKeySources`, or the name of a provider. */
  readonly root_key_source: string
  readonly root_key_file: string
  readonly root_key_credential: string
  readonly 'root_key_shares.time_limit_seconds': number
  readonly rate_limit_per_second: number | undefined
  readonly body_limit_bytes: number
  readonly headers_timeout_ms: number
  readonly request_timeout_ms: number
  readonly keep_alive_timeout_ms: number
  readonly list_verb_enabled: boolean
  readonly drain_timeout_ms: number
  readonly watchdog_seconds: number
  readonly cors_allowed_origins: readonly string[]
  readonly audit_enabled: boolean
  readonly audit_failure_mode: AuditFailureMode
  readonly audit_trusted_proxy_cidrs: readonly string[]
  readonly audit_rotate_bytes: number
  readonly audit_rotate_days: number
  readonly audit_encryption: boolean
  readonly audit_syslog: string | undefined
  readonly audit_timestamp_url: string | undefined
  readonly audit_timestamp_ca_file: string | undefined
  readonly audit_collector_url: string | undefined
  readonly audit_collector_token_file: string | undefined
  readonly log_level: 'debug' | 'info' | 'warn' | 'error'
  readonly metrics_port: number | undefined
  readonly otlp_endpoint: string | undefined
  readonly otlp_trace_percent: number
  readonly cache_lease_ms: number
  readonly node_name: string | undefined
  readonly node_url: string | undefined
}

/** Everything needed to run one service. */
export interface ServiceLaunch {
  /** URL of the module and the name under which it exports its `ServiceDefinition`: workers load it themselves. */
  readonly module: string
  readonly exportName: string
  readonly config: RuntimeConfig & Readonly<Record<string, unknown>>
  /** Those of `config` that are not the default, for reports. */
  readonly changedSettings?: readonly ChangedSetting[]
  readonly home: string
  readonly version: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ports that the starter of this process claimed for it (`claimPort`) and releases once it serves. */
  readonly heldPorts?: readonly number[]
  /** The operator accepts, for this start, a database that is missing or behind the audit log. */
  readonly acceptRollback?: boolean
  /** Certificates that the local authority of the home issues; undefined = one, named after the service. */
  readonly localCertificates?: readonly LocalCertificate[]
  /** Secret by which the services of an installation recognise each other (`WARDER_PEER_SECRET`). */
  readonly peerSecret?: string | undefined
  /** Creates the provider of a source that wraps the root key. It contacts nothing. @throws StartupError */
  readonly rootKeyProvider?: ((source: string, launch: RootKeyLaunch) => Promise<RootKeyProvider>) | undefined
  /**
   * Collects the shares of a root key from its holders, and opens it. undefined: this process cannot ask holders.
   * @throws StartupError when they are not given
   */
  readonly collectShares?: CollectShares | undefined
  /**
   * Called when the program can use the database, before it is changed; the start continues when the promise
   * resolves.
   */
  readonly beforeMigrating?: ((pending: boolean) => Promise<void>) | undefined
  /** Called when the service replies on its port that its database is unreachable. */
  readonly onWaiting?: (() => void) | undefined
  /** Called when the service replies on its ports that it is sealed, and accepts shares. */
  readonly onSealed?: ((sealed: SealedEndpoints) => void) | undefined
}

/** Addresses of a sealed service. */
export interface SealedEndpoints {
  readonly url: string
  /** The listener beside HTTPS. */
  readonly socket: { readonly host: string; readonly port: number } | undefined
}

/**
 * @param find reads the set of shares of the database; called again if another set may have replaced it
 * @param service name of the service whose database the root key opens
 */
export type CollectShares = (find: () => Promise<SharedRootKey>, service: string) => Promise<RootKey>

/** The settings of a service that its root key depends on, with what they refer to. */
export type RootKeyLaunch = Pick<
  ServiceLaunch,
  'config' | 'home' | 'env' | 'rootKeyProvider' | 'collectShares'
>

/** The members of a launch that cannot be passed to a worker. */
export type LaunchOfWorker = Omit<
  ServiceLaunch,
  'env' | 'onWaiting' | 'onSealed' | 'beforeMigrating' | 'rootKeyProvider' | 'collectShares'
>

/** A root key in the form that is passed to a worker thread; never written or logged. */
export interface PlainRootKey {
  readonly kind: RootKey['kind']
  readonly from: string
  readonly bytes: Uint8Array
}

export function toPlain(key: RootKey): PlainRootKey {
  const secret = key.kind === 'key' ? key.key : key.passphrase
  return { kind: key.kind, from: key.from, bytes: secret.use((bytes) => Uint8Array.from(bytes)) }
}

/** Buckets of the rate limit, whatever the number of peers: 512 KiB. */
export const rateLimitSlots = 65_536
/** Number of the token buckets of `ServiceEnvironment.rateMemory`. */
export const sharedRateSlots = 4096

/** Kinds of notes about a home. */
type Note = 'backup' | 'drill'

/**
 * Stores the time of a success.
 * @returns a sentence when that fails, which does not undo the success
 */
export function writeNote(home: string, what: Note, now: number): string | undefined {
  const path = join(home, `${what}.json`)
  const fresh = `${path}.new`
  try {
    writeFileSync(fresh, `${JSON.stringify({ at: new Date(now).toISOString() })}\n`, { mode: 0o600 })
    // The service may run as another user than root, who made the backup.
    const { uid, gid } = statSync(home)
    if (process.getuid?.() === 0 && uid !== 0) chownSync(fresh, uid, gid)
    renameSync(fresh, path)
    return undefined
  } catch (error) {
    rmSync(fresh, { force: true })
    return `${path} cannot be written, so /metrics shows the previous ${what}: ${describeWriteError(error, path)}`
  }
}

/** Unix seconds; 0 = never, or the note cannot be read. */
export function readNoteTime(home: string, what: Note): number {
  const path = join(home, `${what}.json`)
  try {
    const { at } = JSON.parse(existsSync(path) ? readFileSync(path, 'utf8') : '{}') as {
      readonly at?: string
    }
    const time = Date.parse(at ?? '')
    return Number.isNaN(time) ? 0 : time / 1000
  } catch {
    return 0
  }
}
