import { join } from 'node:path'
import { formatBaseUrl, StartupError } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { configure, type ServiceConfiguration } from './configuration.ts'
import { getFirstConfiguration } from './first-run.ts'
import { requireReachableAuth } from './own-certificate.ts'

/** The settings of both services. */
export interface BothConfigurations {
  readonly auth: ServiceConfiguration
  readonly kms: ServiceConfiguration
}

/**
 * Reads the settings of both services; before the first start, uses the content of the files that it would write.
 * @throws StartupError
 */
export function configureBoth(home: string, env: Terminal['env']): BothConfigurations {
  return {
    auth: configure('auth', home, [], env, getFirstConfiguration('auth')),
    kms: configure('kms', home, [], env, getFirstConfiguration('kms')),
  }
}

/**
 * Applies the defaults of `warder start` with these ports to both services.
 * @returns also the address of auth for the kms
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
 * Refuses settings with which the two services cannot work together.
 * @param authUrl address of auth for the kms, unless its settings name another
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

/** In a joint start, auth publishes its session keys, unless its settings differ. */
export function configureBesideKms(auth: ServiceConfiguration): ServiceConfiguration {
  if (auth.loaded.provenance.publish_session_jwks !== 'default') return auth
  return withLaunch(auth, {}, { publish_session_jwks: true })
}

/**
 * In a joint start, the kms uses the auth service of the same start, unless its settings differ.
 * @param url of that service
 */
export function configureBesideAuth(
  kms: ServiceConfiguration,
  url: string,
  auth: ServiceConfiguration,
): ServiceConfiguration {
  const { launch, loaded } = kms
  if (loaded.provenance.auth_verifier_url !== 'default') return kms
  const { tls_cert_file: pem, tls_p12_file: p12 } = auth.launch.config
  const hasOwnCertificate = pem !== undefined || p12 !== undefined
  const ca =
    loaded.provenance.auth_verifier_ca_cert === 'default' && !hasOwnCertificate
      ? { auth_verifier_ca_cert: join(launch.home, 'tls', 'ca.crt') }
      : {}
  const token =
    loaded.provenance.vault_auth_verifier_url === 'default'
      ? { vault_auth_verifier_url: url, app_tokens_by_default: true }
      : {}
  const browsers =
    loaded.provenance.auth_public_url === 'default' && !hasOwnCertificate
      ? { auth_public_url: toBrowserUrl(url) }
      : {}
  const issuer = loaded.values.auth_verifier_issuer ?? 'published'
  const more = { ...ca, ...token, ...browsers }
  return withLaunch(kms, {}, { auth_verifier_url: url, auth_verifier_issuer: issuer, ...more })
}

/** The address for browsers, to which passkeys and cookies belong: an address of this machine becomes `localhost`. */
function toBrowserUrl(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return /^127\.|^\[::1\]$/.test(hostname) ? `${protocol}//localhost${port === '' ? '' : `:${port}`}` : url
}

/**
 * Reads the shared secret of auth and the kms: random at each joint start, or given to services that are started
 * separately. A kms that was started together with one auth service but uses another gets none.
 * @throws StartupError when it is too short
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
