import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Clock, type Logger, Secret, StartupError } from '@warder/base'
import type { Names } from '@warder/keys'
import { createOutbound, type Outbound, type OutboundSettings, readOutboundAccess } from '@warder/outbound'
import { httpsProblem } from '@warder/runtime/settings'
import { peerSecretHeader } from '@warder/server'
import type { Database, Seal } from '@warder/storage'
import { apiToken } from './api-token.ts'
import { appToken } from './app-token.ts'
import { type AuthVerifierOptions, authVerifier } from './auth-verifier.ts'
import type { CascadeStep } from './cascade.ts'
import { clientCertificates } from './client-certificate.ts'
import { type Directory, directoryAt } from './directory.ts'
import type { HandedLoginOptions } from './handed-logins.ts'
import { type HandoverLogin, handoverLogin } from './handover-login.ts'
import { jwtProviders, keySetAt, readProvider } from './jwt-provider.ts'
import { type OidcLogin, oidcLogin } from './oidc.ts'
import { type PasswordLogin, passwordLogin } from './password-login.ts'
import { publishedIssuer, publishedIssuers } from './published-issuers.ts'
import type { Ended } from './revocations/ended.ts'
import type { FeedSource } from './revocations/feed-page.ts'
import { openRoleReader, type RoleConfig } from './roles.ts'
import { type SamlLogin, samlLogin } from './saml-login.ts'
import { type LoginProvider, sessionExtractor } from './session-cookie.ts'
import { isRealmId } from './user-name.ts'

/** The settings of authentication. */
export interface IdentityConfig extends RoleConfig, OutboundSettings {
  readonly default_username: string
  readonly auth_verifier_ca_cert: string | undefined
  readonly auth_public_url: string | undefined
  readonly auth_verifier_issuer: string | undefined
  readonly auth_verifier_realm_without_aud: string | undefined
  readonly api_token_id: string | undefined
  readonly vault_auth_verifier_url: string | undefined
  /** Not a setting: `vault_auth_verifier_url` is absent, and the service that was started beside this one is used. */
  readonly app_tokens_by_default?: boolean | undefined
  readonly vault_token_cache_ttl_secs: number
  readonly vault_api_enabled: boolean
  readonly kms_public_url: string | undefined
  readonly 'ui_config.ui_oidc_auth.ui_oidc_client_id': string | undefined
  readonly 'ui_config.ui_oidc_auth.ui_oidc_client_secret': string | undefined
}

export interface IdentityEnvironment {
  readonly config: IdentityConfig
  /** Paths that are not absolute start here. */
  readonly home: string
  /** Address of this service on this machine. */
  readonly baseUrl: string
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
  readonly seal: Seal
  readonly db: Database
  /** SHA-256 of a symmetric key that is Active now. */
  readonly keyDigest: (id: string) => Promise<Uint8Array | undefined>
  /** Ends at the authentication service; undefined = there is no feed. */
  readonly ended?: Ended | undefined
  readonly names?: Names | undefined
  /** By which the authentication service knows this one. */
  readonly peerSecret?: Secret | undefined
}

/**
 * The configured extractors, in the order in which they are tried (docs/how-to/callers.md).
 * @throws StartupError for a configuration that cannot work
 */
export function configuredSteps(environment: IdentityEnvironment): readonly CascadeStep[] {
  const { config, home, clock, log, keyDigest, ended } = environment
  const steps: CascadeStep[] = []
  const roles = openRoleReader(environment)
  const outbound = outboundToAuth(config, home)
  const { vault_auth_verifier_url: lookupUrl, api_token_id: tokenKey } = config
  if (lookupUrl !== undefined) {
    const url = httpsAddress('vault_auth_verifier_url', lookupUrl)
    // Only the service that publishes the revocation feed can confirm that a token was not revoked.
    const told = url === authAddress(config) ? ended : undefined
    const ttlSeconds = config.vault_token_cache_ttl_secs
    const peerSecret = url === authAddress(config) ? environment.peerSecret : undefined
    const extract = appToken({ url, outbound, clock, ttlSeconds, ended: told, peerSecret })
    steps.push({ credential: 'app token', extract, failsClosed: config.app_tokens_by_default !== true })
  }
  if (config.clients_ca_cert_file !== undefined)
    steps.push({ credential: 'client certificate', extract: clientCertificates(clock, ended, roles) })
  if (config.jwt_auth_provider.length > 0) {
    const providers = [...new Set(config.jwt_auth_provider)].map((text) => {
      refuseOwnAddress(text, environment)
      return readProvider(text, environment)
    })
    steps.push({ credential: 'bearer token', extract: jwtProviders(providers, clock, roles) })
  }
  const keySet = verifierKeySet(config)
  if (keySet !== undefined) {
    refuseOwnKeySet(keySet, environment)
    const extract = authVerifier({
      keys: keySetAt('auth_verifier_jwks', keySet, { home, outbound, clock, log }),
      isIssuer: verifierIssuer(config, { outbound, clock, log }),
      realm: config.auth_verifier_realm,
      realmWithoutAudience: config.auth_verifier_realm_without_aud,
      roles,
      clock,
      ended,
      names: environment.names,
    })
    steps.push({ credential: 'bearer token', extract })
  }
  if (tokenKey !== undefined) {
    const extract = apiToken({ digest: () => keyDigest(tokenKey), username: config.default_username })
    steps.push({ credential: 'bearer token', extract })
  }
  if (hasLogins(config)) {
    const extract = sessionExtractor(
      { ...environment, roles },
      (realm) => selectLoginProvider(config, realm),
      ended,
    )
    steps.push({ credential: 'session cookie', extract })
  }
  return steps
}

/**
 * Makes everything that the settings about callers configure, as a worker does, and discards it.
 * @throws StartupError for a configuration that cannot work
 */
export function checkIdentity(
  environment: Pick<IdentityEnvironment, 'config' | 'home' | 'baseUrl' | 'clock' | 'log'>,
): void {
  const { home } = environment
  const config = withAuthorityToBeMade(environment.config, home)
  const unopened = (): never => {
    throw new Error('sealing and storing are not available while settings are checked')
  }
  const seal = { seal: unopened, open: unopened }
  const outbound = createOutbound({ allowPrivateNetworks: false, proxy: undefined })
  const db = undefined as unknown as Database
  const keyDigest = async (): Promise<undefined> => undefined
  const peerSecret = Secret.fromText('no installation: no request is sent')
  const checked = { ...environment, config, outbound, seal, db, keyDigest }
  configuredSteps(checked)
  configuredProxy(checked)
  configuredOidc(config, checked)
  configuredSaml(checked, peerSecret)
  createHandoverLogin(checked, peerSecret)
  configuredLogin(checked, peerSecret)
  configuredFeed(checked, peerSecret)
}

/** The first start makes the local authority after its settings were checked. */
function withAuthorityToBeMade(config: IdentityConfig, home: string): IdentityConfig {
  const { auth_verifier_ca_cert: file } = config
  if (file === undefined || resolve(home, file) !== join(home, 'tls', 'ca.crt')) return config
  return existsSync(join(home, 'tls', 'ca.crt')) ? config : { ...config, auth_verifier_ca_cert: undefined }
}

/** Logins with a password: of the realm that is named in the settings, else of every realm. */
export function configuredLogin(
  { config, home, log }: Pick<IdentityEnvironment, 'config' | 'home' | 'log'>,
  peerSecret: Secret | undefined,
): PasswordLogin | undefined {
  const url = authAddress(config)
  if (url === undefined) return undefined
  const { auth_verifier_realm: only } = config
  return passwordLogin(
    url,
    only,
    outboundToAuth(config, home),
    openRoleReader({ config, home, log }),
    peerSecret,
  )
}

/** Directory for names; undefined: no authentication service is configured, or no secret is shared with it. */
export function configuredDirectory(
  config: IdentityConfig,
  home: string,
  peerSecret: Secret | undefined,
): Directory | undefined {
  const url = authAddress(config)
  if (url === undefined || peerSecret === undefined) return undefined
  const outbound = outboundToAuth(config, home, { timeoutMs: 3000, maxBytes: 4096 })
  return directoryAt(url, config.auth_verifier_realm, outbound, peerSecret)
}

type LoginEnvironment = Pick<IdentityEnvironment, 'config' | 'home' | 'baseUrl' | 'seal' | 'clock' | 'log'>

/** Logins for the web page at the identity providers of realms; undefined: no authentication service is configured. */
export function configuredSaml(
  environment: LoginEnvironment,
  peerSecret: Secret | undefined,
): SamlLogin | undefined {
  const options = readLoginOptions(environment, peerSecret)
  const { config, baseUrl } = environment
  return options && samlLogin({ ...options, publicUrl: config.kms_public_url ?? baseUrl })
}

/**
 * Logins for the web page with a session of the authentication service; undefined: none is configured, or no secret is
 * shared with it.
 */
export function createHandoverLogin(
  environment: LoginEnvironment,
  peerSecret: Secret | undefined,
): HandoverLogin | undefined {
  const options = readLoginOptions(environment, peerSecret)
  if (options === undefined || peerSecret === undefined) return undefined
  const { kms_public_url: ownUrl } = environment.config
  const authPublicUrl = findAuthPublicUrl(environment.config) ?? options.url
  const publicUrls: [string, ...string[]] =
    ownUrl === undefined
      ? [environment.baseUrl, ...sameMachine(environment.baseUrl).filter((url) => url !== undefined)]
      : [httpsAddress('kms_public_url', ownUrl)]
  return handoverLogin({ ...options, authPublicUrl, publicUrls })
}

/** Address of the authentication service for browsers; undefined: none is configured. */
export function findAuthPublicUrl(config: IdentityConfig): string | undefined {
  const { auth_verifier_url: url, auth_public_url: publicUrl } = config
  if (url === undefined || publicUrl === undefined) return authAddress(config)
  return httpsAddress('auth_public_url', publicUrl)
}

function readLoginOptions(
  environment: LoginEnvironment,
  peerSecret: Secret | undefined,
): HandedLoginOptions | undefined {
  const { config, home, seal, clock } = environment
  const url = authAddress(config)
  if (url === undefined) return undefined
  const [outbound, roles] = [outboundToAuth(config, home), openRoleReader(environment)]
  return { url, only: config.auth_verifier_realm, outbound, roles, seal, clock, peerSecret }
}

/** Address to which requests of machines are forwarded; undefined: none. @throws StartupError when that is this service */
export function configuredProxy({
  config,
  home,
  baseUrl,
}: Pick<IdentityEnvironment, 'config' | 'home' | 'baseUrl'>):
  | { readonly url: string; readonly outbound: Outbound }
  | undefined {
  const { vault_auth_verifier_url: own, auth_verifier_url: usual } = config
  const address = own ?? usual
  // Without an address the start is refused (`refuseHalfMethods`).
  if (!config.vault_api_enabled || address === undefined) return undefined
  const setting = own === undefined ? 'auth_verifier_url' : 'vault_auth_verifier_url'
  if (sameMachine(baseUrl).includes(toOrigin(address)))
    throw new StartupError(
      `vault_api_enabled: ${setting} is this service, which would send requests to itself`,
    )
  return { url: httpsAddress(setting, address), outbound: outboundToAuth(config, home) }
}

/** Logins for the web page at an OpenID provider. @throws StartupError for half a configuration */
export function configuredOidc(
  config: IdentityConfig,
  {
    baseUrl,
    outbound,
    seal,
    clock,
    home,
    log,
  }: Pick<IdentityEnvironment, 'outbound' | 'seal' | 'clock' | 'home' | 'log'> & {
    readonly baseUrl: string
  },
): OidcLogin | undefined {
  const client = oidcClient(config)
  if (client === undefined) return undefined
  const clientSecret = config['ui_config.ui_oidc_auth.ui_oidc_client_secret']
  const { kms_public_url: publicUrl = baseUrl } = config
  const redirectUri = `${httpsAddress('kms_public_url', publicUrl)}/ui/callback`
  const roles = openRoleReader({ config, home, log })
  return oidcLogin({ ...client, clientSecret, redirectUri, outbound, seal, clock, roles })
}

/**
 * Asks the OpenID provider of the settings for its metadata (OpenID Connect Discovery §4).
 * @returns a sentence when it cannot be used now
 */
export async function unusableProvider({
  config,
  outbound,
}: {
  readonly config: IdentityConfig
  readonly outbound: Outbound
}): Promise<string | undefined> {
  const issuer = oidcClient(config)?.issuer
  if (issuer === undefined) return undefined
  const problem = await metadataProblem(issuer, outbound)
  return (
    problem &&
    `ui_config.ui_oidc_auth.ui_oidc_issuer_url: the OpenID provider ${issuer} cannot be used: ${problem}. Until it is fixed, no user can log in to the web page with it`
  )
}

async function metadataProblem(issuer: string, outbound: Outbound): Promise<string | undefined> {
  try {
    const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`
    const { status, body } = await outbound.get(url)
    if (status !== 200) return `${url} responds with status ${status}`
    const named: unknown = JSON.parse(Buffer.from(body).toString('utf8'))?.issuer
    return named === issuer ? undefined : `its metadata contain another issuer, ${JSON.stringify(named)}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function oidcClient(
  config: IdentityConfig,
): { readonly issuer: string; readonly clientId: string } | undefined {
  const issuer = config['ui_config.ui_oidc_auth.ui_oidc_issuer_url']
  const clientId = config['ui_config.ui_oidc_auth.ui_oidc_client_id']
  // One without the other stops the start (`refuseHalfMethods`).
  if (issuer === undefined || clientId === undefined) return undefined
  httpsAddress('ui_config.ui_oidc_auth.ui_oidc_issuer_url', issuer)
  return { issuer, clientId }
}

function hasLogins(config: IdentityConfig): boolean {
  return config.auth_verifier_url !== undefined || oidcClient(config) !== undefined
}

/** Source of the web page's sessions with this realm: logins with a password, or the OpenID provider. */
function selectLoginProvider(config: IdentityConfig, realm: string): LoginProvider | undefined {
  if (oidcClient(config)?.issuer === realm) return 'oidc'
  const { auth_verifier_url: url, auth_verifier_realm: only } = config
  if (url === undefined || (only !== undefined && realm !== only)) return undefined
  return isRealmId(realm) ? 'auth' : undefined
}

/** The authentication service whose sessions are accepted. @throws StartupError for an address that is not https */
function authAddress({ auth_verifier_url: url }: IdentityConfig): string | undefined {
  return url === undefined ? undefined : httpsAddress('auth_verifier_url', url)
}

/** Source of the revocation feed; undefined: no authentication service is configured, or no secret is shared with it. */
export function configuredFeed(
  { config, home, clock, log }: Pick<IdentityEnvironment, 'config' | 'home' | 'clock' | 'log'>,
  peerSecret: Secret | undefined,
): FeedSource | undefined {
  const url = authAddress(config)
  const keySet = verifierKeySet(config)
  if (url === undefined || keySet === undefined || peerSecret === undefined) return undefined
  const outbound = outboundToAuth(config, home)
  return {
    url,
    outbound: outboundToAuth(config, home, { timeoutMs: 15_000, maxBytes: 8 * 2 ** 20 }),
    keys: keySetAt('auth_verifier_jwks', keySet, { home, outbound, clock, log }),
    clock,
    headers: () => peerSecret.use((bytes) => ({ [peerSecretHeader]: Buffer.from(bytes).toString('utf8') })),
  }
}

function verifierKeySet(config: IdentityConfig): string | undefined {
  if (config.auth_verifier_jwks !== undefined) return config.auth_verifier_jwks
  if (config.auth_verifier_url === undefined) return undefined
  return `${httpsAddress('auth_verifier_url', config.auth_verifier_url)}/.well-known/jwks.json`
}

type IssuerSources = Pick<IdentityEnvironment, 'outbound' | 'clock' | 'log'>

function verifierIssuer(config: IdentityConfig, sources: IssuerSources): AuthVerifierOptions['isIssuer'] {
  const { auth_verifier_issuer: expected, auth_verifier_url: url } = config
  if (expected === undefined) return undefined
  if (expected !== publishedIssuer) return async (issuer) => issuer === expected
  if (url === undefined)
    throw new StartupError(`auth_verifier_issuer = ${publishedIssuer} requires auth_verifier_url`)
  return publishedIssuers({ url: `${url.replace(/\/+$/, '')}/.well-known/session-issuers`, ...sources })
}

/** If this service's key set were trusted, every user who may sign with a key here could forge tokens of any user. */
function ownKeys(setting: string, address: string): StartupError {
  return new StartupError(`${setting}: ${address} is this service, whose key set contains keys of its users`)
}

type OwnAddress = Pick<IdentityEnvironment, 'config' | 'baseUrl'>

/** @throws StartupError for a provider whose issuer or key set is this service */
function refuseOwnAddress(provider: string, { config, baseUrl }: OwnAddress): void {
  const own = new Set([...sameMachine(baseUrl), toOrigin(config.kms_public_url ?? baseUrl)])
  for (const address of provider.split(',').slice(0, 2)) {
    const origin = toOrigin(address.trim())
    if (origin !== undefined && own.has(origin)) throw ownKeys('jwt_auth_provider', origin)
  }
}

/**
 * A proxy may have both services under one origin: behind the public address only this service's own key set is refused.
 * @throws StartupError when session tokens would be verified by the keys of this service
 */
function refuseOwnKeySet(keySet: string, { config, baseUrl }: OwnAddress): void {
  const origin = toOrigin(keySet)
  if (origin === undefined) return
  const published = new URL(`${(config.kms_public_url ?? baseUrl).replace(/\/+$/, '')}/.well-known/jwks.json`)
  const { pathname } = new URL(keySet)
  if (!sameMachine(baseUrl).includes(origin) && `${origin}${pathname}` !== published.href) return
  throw ownKeys(config.auth_verifier_jwks === undefined ? 'auth_verifier_url' : 'auth_verifier_jwks', origin)
}

/** The other names of a listener that may be on the loopback address. */
function sameMachine(baseUrl: string): readonly (string | undefined)[] {
  const { protocol, hostname, port } = new URL(baseUrl)
  const names = [hostname, 'localhost', '127.0.0.1', '[::1]']
  return names.map((name) => toOrigin(`${protocol}//${name}:${port}`))
}

function toOrigin(address: string): string | undefined {
  return /^https?:/i.test(address) && URL.canParse(address) ? new URL(address).origin : undefined
}

function httpsAddress(setting: string, address: string): string {
  const problem = httpsProblem(address)
  if (problem !== undefined) throw new StartupError(`${setting} ${problem} (got ${address})`)
  return address.replace(/\/+$/, '')
}

/** The authentication service may run on this machine: its address comes from the operator, not from a caller. */
function outboundToAuth(
  config: IdentityConfig,
  home: string,
  bounds: { readonly timeoutMs?: number; readonly maxBytes?: number } = {},
): Outbound {
  const { auth_verifier_ca_cert: file } = config
  const caFile = file === undefined ? undefined : resolve(home, file)
  return createOutbound({
    ...readOutboundAccess(config, home),
    allowPrivateNetworks: true,
    caFile,
    ...bounds,
  })
}
