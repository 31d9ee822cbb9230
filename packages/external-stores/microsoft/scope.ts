import type { KeySet } from '@warder/server'
import type { ExternalEnvironment, ExternalStoreServices } from '../scope/scope.ts'
import { issuerKeys, ownKeySet } from '../scope/token-keys.ts'
import { type MicrosoftConfig, readNamedKey } from './settings.ts'

export const dkePath = '/ms_dke'
/** The key of trials: `npm run clouds -- microsoft`. */
export const trialName = 'warder-trial'

/** Shared by the operations of the scope: its settings, read once. */
export interface MicrosoftScope {
  /** URL at which Office reaches it, without a trailing slash; the name of a key follows. */
  readonly serviceUrl: string
  /** Ids of the current versions, by the names of keys. */
  readonly current: ReadonlyMap<string, string>
  readonly tenants: readonly string[]
  readonly audience: string
  readonly authorization: string
  readonly authority: string
  readonly tokenIssuer: string
  readonly cacheDays: number
  /** undefined: there are no trials. */
  readonly trialKeys: ((services: ExternalStoreServices) => KeySet) | undefined
  keysAt(address: string): KeySet
}

export function toServiceUrl(publicUrl: string): string {
  return `${withoutSlash(publicUrl)}${dkePath}`
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

/** Keys by their names. */
export function parseNamedKeys(config: MicrosoftConfig): ReadonlyMap<string, string> {
  const read = config['ms_dke_config.ms_dke_keys'].map(readNamedKey)
  return new Map(read.flatMap((key) => (key === undefined ? [] : [[key.name, key.kid] as const])))
}

export function createMicrosoftScope(environment: ExternalEnvironment<MicrosoftConfig>): MicrosoftScope {
  const { config, baseUrl } = environment
  const publicUrl = config.kms_public_url ?? baseUrl
  const trialKey = config['ms_dke_config.ms_dke_trial_key']
  return {
    serviceUrl: toServiceUrl(publicUrl),
    current: parseNamedKeys(config),
    tenants: config['ms_dke_config.ms_dke_tenants'],
    audience: config['ms_dke_config.ms_dke_audience'] ?? new URL(publicUrl).origin,
    authorization: config['ms_dke_config.ms_dke_authorization'],
    authority: withoutSlash(config['ms_dke_config.ms_dke_authority']),
    tokenIssuer: withoutSlash(config['ms_dke_config.ms_dke_token_issuer']),
    cacheDays: config['ms_dke_config.ms_dke_cache_days'],
    trialKeys: trialKey === undefined ? undefined : (services) => ownKeySet(services, 'microsoft', trialKey),
    keysAt: lazily(() => issuerKeys(environment)),
  }
}

/** Creates the key sets on first use: the environment must not be used while the operations are created. */
function lazily(make: () => (address: string) => KeySet): (address: string) => KeySet {
  let made: ((address: string) => KeySet) | undefined
  return (address) => {
    made ??= make()
    return made(address)
  }
}
