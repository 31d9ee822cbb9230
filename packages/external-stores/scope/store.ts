import type { ExternalStoreName } from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import type { ErrorShape, Operation, SecurityScheme } from '@warder/server'
import type { ExternalStoreServices } from './services.ts'

/** Common settings that a store reads in addition to its own. */
export interface CommonConfig {
  /** Address at which clouds and browsers reach this service; unset: `baseUrl`. */
  readonly kms_public_url: string | undefined
  readonly cache_lease_ms: number
}

/**
 * Environment from which a store is created, in each worker. `rateMemory`: of its rate limit, shared by the workers.
 * The operations must not use it while they are created, because they are also created to generate documentation.
 */
export type ExternalEnvironment<Config> = Pick<
  ServiceEnvironment<Config & CommonConfig>,
  'config' | 'baseUrl' | 'db' | 'seal' | 'outbound' | 'clock' | 'log' | 'metrics' | 'node' | 'rateMemory'
>

/**
 * An external key store: the one row by which the rest of the service knows it. Its operations have its own
 * authenticator and error shape (docs/adr/http-requests.md); the scope adds what all stores have: `scope.ts`.
 */
export interface ExternalStore<Config = never> {
  readonly name: ExternalStoreName
  /** Display name; tag of its operations in openapi.yaml. */
  readonly title: string
  /** Off by default. */
  enabled(config: Config): boolean
  /** Requests a second that all of its callers may make together; undefined = no limit. */
  ratePerSecond(config: Config): number | undefined
  /** Facts for `/server-info` and `GET /v1/external-stores` besides name and state. Nothing secret. */
  facts(config: Config & CommonConfig, baseUrl: string): Readonly<Record<string, unknown>>
  /** Of openapi.yaml, by the names that `security` of the operations has. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  readonly errorShape: ErrorShape
  /** The failure that callers get while the store is stopped, in its error format. */
  stopped(): Error
  operations(environment: ExternalEnvironment<Config>): readonly Operation<ExternalStoreServices>[]
}
