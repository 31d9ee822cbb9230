import { join } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { formatBaseUrl } from '@warder/foundation/supervision'
import type { Terminal } from '../cli/command.ts'
import { configure, type ServiceConfiguration } from './configuration.ts'
import { getFirstConfiguration } from './first-run.ts'
import { requireReachableAuth } from './own-certificate.ts'

/** The settings of both services. */
export interface BothConfigurations {
  readonly auth: ServiceConfiguration
  readonly kms: ServiceConfiguration
}

/**
 * The settings of both services before their first start, too: files that it writes are read as it writes them.
 * @throws StartupError
 */
export function configureBoth(home: string, env: Terminal['env']): BothConfigurations {
  return {
    auth: configure('auth', home, [], env, getFirstConfiguration('auth')),
    kms: configure('kms', home, [], env, getFirstConfiguration('kms')),
  }
}

/**
 * Both services as `warder start` starts them on these ports.
 * @returns also where the kms looks for auth
 * @throws StartupError
 */
export function configureTogether(
  { auth, kms }: BothConfigurations,
  env: Terminal['env'],
  ports: { readonly auth: number; readonly kms: number },
): BothConfigurations & { readonly authUrl: string } {
  const { plaintext_http: plain, host } = auth.launch.config
  const authUrl = formatBaseUrl(plain ? 'http' : 'https', host, ports.auth)
  const peerSecret = readPeerSecret(env, kms, true)
  return {
    auth: withLaunch(configureBesideKms(auth), {}, { port: ports.auth }),
    kms: withLaunch(configureBesideAuth(kms, authUrl, auth), { peerSecret }, { port: ports.kms }),
    authUrl,
  }
}

function withLaunch(
  { loaded, launch }: ServiceConfiguration,
  more: Partial<ServiceConfiguration['launch']>,
  settings: Readonly<Record<string, unknown>>,
): ServiceConfiguration {
  return { loaded, launch: { ...launch, ...more, config: { ...launch.config, ...settings } } }
}

/**
 * Refuses settings of two services that cannot work together.
 * @param authUrl where the kms looks for auth, unless its settings say otherwise
 * @throws StartupError that names the setting
 */
export async function requireTogether(
  auth: ServiceConfiguration,
  kms: ServiceConfiguration,
  authUrl: string,
): Promise<void> {
  const { provenance, values } = kms.loaded
  const asksAuth = provenance.auth_verifier_url === 'default' && values.auth_verifier_jwks === undefined
  if (asksAuth && configureBesideKms(auth).launch.config.publish_session_jwks === false)
    throw new StartupError(
      `publish_session_jwks is false (${auth.loaded.provenance.publish_session_jwks}), but the kms verifies session tokens with the keys that auth publishes: set it to true in auth.toml, or name the keys with auth_verifier_jwks in kms.toml`,
    )
  await requireReachableAuth(auth, kms, authUrl)
}

/** Started together, auth publishes its session keys to the kms unless its settings say otherwise. */
export function configureBesideKms(auth: ServiceConfiguration): ServiceConfiguration {
  if (auth.loaded.provenance.publish_session_jwks !== 'default') return auth
  return withLaunch(auth, {}, { publish_session_jwks: true })
}

/**
 * Started together, the kms asks the auth service beside it unless its settings say otherwise.
 * @param url of that service
 */
export function configureBesideAuth(
  kms: ServiceConfiguration,
  url: string,
  auth: ServiceConfiguration,
): ServiceConfiguration {
  const { launch, loaded } = kms
  if (loaded.provenance.auth_verifier_url !== 'default') return kms
  const hasOwnCertificate = auth.launch.config.tls_cert_file !== undefined
  const ca =
    loaded.provenance.auth_verifier_ca_cert === 'default' && !hasOwnCertificate
      ? { auth_verifier_ca_cert: join(launch.home, 'tls', 'ca.crt') }
      : {}
  const token =
    loaded.provenance.vault_auth_verifier_url === 'default'
      ? { vault_auth_verifier_url: url, app_tokens_by_default: true }
      : {}
  const issuer = loaded.values.auth_verifier_issuer ?? 'published'
  return withLaunch(kms, {}, { auth_verifier_url: url, auth_verifier_issuer: issuer, ...ca, ...token })
}

/**
 * The secret that auth and the kms know each other by: made anew at each start of both, or given to services that are
 * started apart. A kms that was started beside an auth service and asks another one shows it to nobody.
 * @throws StartupError when it could be guessed
 */
export function readPeerSecret(
  env: Terminal['env'],
  { loaded }: ServiceConfiguration,
  isBesideAuth: boolean,
): string | undefined {
  const secret = env.WARDER_PEER_SECRET
  if (secret === undefined || secret === '') return undefined
  if (!/^[!-~]{32,256}$/.test(secret))
    throw new StartupError('WARDER_PEER_SECRET must have 32 to 256 ASCII characters without spaces')
  const asksAnother = isBesideAuth && loaded.provenance.auth_verifier_url !== 'default'
  return asksAnother ? undefined : secret
}
