import { StartupError } from '@warder/base'
import { foldAscii, foldEmail } from '@warder/keys'
import { readProviderText } from '@warder/runtime/settings'
import type { ExternalEnvironment, ExternalStoreServices } from '../scope/scope.ts'
import { issuerKeys, ownKeySet } from '../scope/token-keys.ts'
import type { IdentityProvider, TokenSources } from './claims.ts'
import type { GoogleConfig } from './settings.ts'

export const googlePath = '/google_cse'

/** Shared by the operations of the scope: its settings, read once. */
export interface GoogleScope {
  /** URL at which Google reaches it, without a trailing slash. */
  readonly kaclsUrl: string
  readonly name: string
  /** Id of the current wrapping key. */
  readonly wrappingKey: string
  readonly signingKey: string
  /** Folded. */
  readonly administrators: ReadonlySet<string>
  /** Key services from and to which keys may be migrated. */
  readonly peers: readonly string[]
  readonly environment: ExternalEnvironment<GoogleConfig>
  sources(services: ExternalStoreServices): TokenSources
}

/** The address of the scope: `kacls_url` of tokens must equal it, and it is entered in the Admin console. */
export function toKaclsUrl(publicUrl: string): string {
  return `${withoutSlash(publicUrl)}${googlePath}`
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

export function createGoogleScope(environment: ExternalEnvironment<GoogleConfig>): GoogleScope {
  const { config, baseUrl, clock } = environment
  const kaclsUrl = toKaclsUrl(config.kms_public_url ?? baseUrl)
  const peers = config['google_cse_config.google_cse_incoming_url_whitelist'].map(withoutSlash)
  const signingKey = config['google_cse_config.google_cse_signing_key'] ?? ''
  const trialKey = config['google_cse_config.google_cse_trial_key']
  let sources: TokenSources | undefined
  const makeSources = (services: ExternalStoreServices): TokenSources => ({
    kaclsUrl,
    ownerDomain: foldAscii(config['google_cse_config.google_cse_owner_domain'] ?? ''),
    authorizationKeys: config['google_cse_config.google_cse_authorization_keys'],
    providers: [
      ...parseProviders(config['google_cse_config.google_cse_identity_providers'], false),
      ...parseProviders(config['google_cse_config.google_cse_guest_identity_providers'], true),
    ],
    peers,
    trialIssuer: `${kaclsUrl}/trial`,
    keysAt: issuerKeys(environment),
    ownKeys: ownKeySet(services, 'google', signingKey),
    trialKeys: trialKey === undefined ? undefined : ownKeySet(services, 'google', trialKey),
    clock,
  })
  return {
    kaclsUrl,
    name: config['google_cse_config.google_cse_name'],
    wrappingKey: config['google_cse_config.google_cse_key'] ?? '',
    signingKey,
    administrators: new Set(
      config['google_cse_config.google_cse_administrators'].map((email) => foldEmail(email) ?? ''),
    ),
    peers,
    environment,
    sources(services) {
      sources ??= makeSources(services)
      return sources
    },
  }
}

function parseProviders(texts: readonly string[], guests: boolean): readonly IdentityProvider[] {
  return texts.flatMap((text) => {
    const read = readProviderText(text)
    if ('problem' in read) return []
    const { issuer, keySet, audiences = [] } = read
    return [{ issuer, keySet, audiences, guests }]
  })
}

/**
 * Refuses settings that cannot work, or that would allow users of this service to forge tokens.
 * @throws StartupError
 */
export function checkGoogleSettings({
  config,
  baseUrl,
}: Pick<ExternalEnvironment<GoogleConfig>, 'config' | 'baseUrl'>): void {
  const own = new URL(config.kms_public_url ?? baseUrl).origin
  const providers = [
    ...config['google_cse_config.google_cse_identity_providers'],
    ...config['google_cse_config.google_cse_guest_identity_providers'],
  ]
  for (const { issuer, keySet } of parseProviders(providers, false)) {
    if (new URL(keySet).origin === own)
      throw new StartupError(
        `google_cse_config.google_cse_identity_providers: the key set of ${issuer} is from this service and contains keys of its users`,
      )
  }
  const kaclsUrl = toKaclsUrl(config.kms_public_url ?? baseUrl)
  if (config['google_cse_config.google_cse_incoming_url_whitelist'].map(withoutSlash).includes(kaclsUrl))
    throw new StartupError('google_cse_config.google_cse_incoming_url_whitelist names this service itself')
}
