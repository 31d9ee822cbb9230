import { type Clock, failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import {
  type AccessServices,
  type Blocks,
  type ExternalStoreName,
  externalPrincipal,
  type GcmBudgets,
  type LastUses,
  type NamedKeys,
} from '@warder/keys'
import { type ServiceEnvironment, sharedRateSlots } from '@warder/runtime'
import {
  createTokenBuckets,
  defineOperation,
  type ErrorShape,
  type Operation,
  type OperationContext,
  type SecurityScheme,
  type TokenBuckets,
} from '@warder/server'
import type { Seal } from '@warder/storage'
import type { KnownGrants } from './granted-key.ts'
import type { StopSwitch } from './stop-switch.ts'

/** The vendor's facts about a request, for the audit record. Its signature or token was verified. */
export interface VendorRequest {
  /** The identifier of the request in the vendor's own log. */
  readonly requestId: string | undefined
  /** The vendor's name of the caller; undefined if the request names none. */
  readonly principal: string | undefined
  /** Further facts, under names of this service. Nothing secret. */
  readonly details?: Readonly<Record<string, unknown>>
  /** The key of the request. */
  readonly object?: string
  readonly algorithm?: string
}

/** Maximum length of a recorded text of a vendor, in characters. */
const maxTextLength = 2048

/** Adds the vendor's request id and principal to the audit record of this request. */
export function recordVendor(
  { audit }: Pick<OperationContext<never>, 'audit'>,
  store: ExternalStoreName,
  { requestId, principal, details, object, algorithm }: VendorRequest,
): void {
  audit({
    ...(principal !== undefined && {
      principal: externalPrincipal(store, principal.slice(0, maxTextLength)),
    }),
    ...(object !== undefined && { object }),
    ...(algorithm !== undefined && { algorithm }),
    details: {
      ...(requestId !== undefined && { vendor_request_id: requestId.slice(0, maxTextLength) }),
      ...details,
    },
  })
}

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Standard base64 (RFC 4648 §4). The padding may be missing, as in some of Google's own examples; unused bits must be
 * zero, so that a value has one spelling.
 * @param maxBytes bytes
 * @throws failure('bad_request') that names the member
 */
export function decodeBase64(text: string, member: string, maxBytes: number): Buffer {
  if (text.length > Math.ceil(maxBytes / 3) * 4)
    throw failure('bad_request', `${member}: is longer than ${maxBytes} bytes.`)
  const bytes = alphabet.test(text) ? Buffer.from(text, 'base64') : undefined
  if (bytes === undefined || stripPadding(bytes.toString('base64')) !== stripPadding(text))
    throw failure('bad_request', `${member}: is not base64.`)
  if (bytes.length === 0) throw failure('bad_request', `${member}: is empty.`)
  if (bytes.length > maxBytes) throw failure('bad_request', `${member}: is longer than ${maxBytes} bytes.`)
  return bytes
}

function stripPadding(text: string): string {
  return text.replace(/=+$/, '')
}

/** The external key stores, for the rest of the service. */
export interface ExternalServices {
  readonly stopSwitch: StopSwitch
  readonly grants: KnownGrants
  /** The URL at which clouds reach this service, without a trailing slash. */
  readonly publicUrl: string
  /** Enabled stores, as they are described to callers. */
  readonly enabled: readonly (StoreFacts & { readonly name: ExternalStoreName })[]
}

/** What administrators of a cloud enter there. The members depend on the vendor; nothing is secret. */
export interface StoreFacts {
  /** AWS and Azure: URL of this service. */
  readonly endpoint?: string
  /** AWS and Azure: one path for each store. */
  readonly paths?: string[]
  /** AWS: id of the access key in the settings. */
  readonly access_key_id?: string
  /** AWS, if it needs a client certificate, and Azure: permitted Common Names. */
  readonly client_names?: string[]
  /** Google: URL of the key service. */
  readonly kacls_url?: string
  /** Google: ids of keys. */
  readonly wrapping_key?: string
  readonly signing_key?: string
  /** Google and Microsoft: id of the key for tests. */
  readonly trial_key?: string
  /** Microsoft: URL before the names of keys. */
  readonly service_url?: string
  /** Microsoft: one URL for each key. */
  readonly key_urls?: string[]
  /** Microsoft: ids of keys by their names in labels. */
  readonly keys?: Record<string, string>
}

/** Services that the external key stores need. */
export interface ExternalStoreServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** Algorithm policy of this server, including `fips`, which every operation of REST and KMIP applies. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Keys that the settings name. */
  readonly namedKeys: NamedKeys
  /** Blocked principals, whose requests are refused. */
  readonly blocks: Blocks
  readonly external: ExternalServices
}

/** Declares an operation of this folder. */
export const define = defineOperation<ExternalStoreServices>()

/** Common settings that a store reads in addition to its own. */
export interface CommonConfig {
  /** Address at which clouds and browsers reach this service; unset: `baseUrl`. */
  readonly kms_public_url: string | undefined
  readonly cache_lease_ms: number
}

/**
 * Environment from which a store is created, in each worker. The workers share `rateMemory`, the memory of its rate
 * limit. The operations must not use it while they are created, because they are also created to generate
 * documentation.
 */
export type ExternalEnvironment<Config> = Pick<
  ServiceEnvironment<Config & CommonConfig>,
  'config' | 'baseUrl' | 'db' | 'seal' | 'outbound' | 'clock' | 'log' | 'metrics' | 'node' | 'rateMemory'
>

/**
 * An external key store: the one row that the rest of the service uses. Its operations have their own authenticator and
 * error shape (docs/adr/http-requests.md); `scope.ts` adds the features of all stores.
 */
export interface ExternalStore<Config = never> {
  readonly name: ExternalStoreName
  /** Display name; tag of its operations in openapi.yaml. */
  readonly title: string
  /** Off by default. */
  enabled(config: Config): boolean
  /** Maximum requests per second of all its callers together; undefined = no limit. */
  ratePerSecond(config: Config): number | undefined
  /** Facts for `/server-info` and `GET /v1/external-stores` besides name and state. Nothing secret. */
  facts(config: Config & CommonConfig, baseUrl: string): StoreFacts
  /** Security schemes in openapi.yaml, by their names in `security` of the operations. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  readonly errorShape: ErrorShape
  /** The failure that callers get while the store is stopped, in its error format. */
  stopped(): Error
  operations(environment: ExternalEnvironment<Config>): readonly Operation<ExternalStoreServices>[]
}

/**
 * Adds the features of all stores to the operations of a store: permissive CORS without credentials, members that the
 * cloud adds, its tag and error shape, its rate limit, its stop switch and blocked users. All are checked on each
 * request after authentication and before the access check of the operation: unauthenticated callers learn nothing
 * about them, and are limited only by address. Operations without credentials have a limit of their own.
 */
export function operationsInScope<Config>(
  store: ExternalStore<Config>,
  environment: ExternalEnvironment<Config>,
): readonly Operation<ExternalStoreServices>[] {
  const limiter = createLimiter(store, environment)
  return store.operations(environment).map((operation) => ({
    ...operation,
    tag: store.title,
    errorShape: store.errorShape,
    foreignMembers: {
      names: 'any',
      because: `${store.title}: the cloud's program makes the request, and later versions of its interface add members.`,
    },
    foreignParameters: {
      names: 'any',
      because: `${store.title}: the cloud's program makes the request.`,
    },
    cors: 'any-origin',
    access: {
      ...operation.access,
      async check(input, context) {
        const { services, principal } = context
        const { stopped_at } = await services.external.stopSwitch.state(store.name)
        if (stopped_at !== null) throw store.stopped()
        limitRate(limiter, principal === undefined ? `${store.name}, anonymous` : store.name)
        if (principal !== undefined) await services.blocks.require(principal)
        await operation.access.check?.(input, context)
      },
    },
  }))
}

function createLimiter<Config>(
  store: ExternalStore<Config>,
  { config, clock, rateMemory }: ExternalEnvironment<Config>,
): TokenBuckets | undefined {
  const ratePerSecond = store.ratePerSecond(config)
  if (ratePerSecond === undefined) return undefined
  return createTokenBuckets({
    ratePerSecond,
    burst: ratePerSecond,
    slots: sharedRateSlots,
    clock,
    key: (name) => name,
    ...(rateMemory !== undefined && { memory: rateMemory }),
  })
}

/** @param callers group that shares the limit, so that requests without credentials do not exhaust that of the cloud */
function limitRate(limiter: TokenBuckets | undefined, callers: string): void {
  const verdict = limiter?.take(`external store ${callers}`)
  if (verdict === undefined || verdict.allowed) return
  throw failure('rate_limited', undefined, { retryAfterSeconds: verdict.retryAfterSeconds })
}
