import { join } from 'node:path'
import { formatBaseUrl, StartupError, toBrowserUrl } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { configure, type ServiceConfiguration } from './configuration.ts'
import { getFirstConfiguration } from './first-run.ts'
import { requireReachableAuth } from './own-certificate.ts'

type LaunchConfig = ServiceConfiguration['launch']['config']

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
    auth: withLaunch(configureBesideKms(auth, kms, ports.kms), {}, { port: ports.auth }),
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
  if (asksAuth && configureBesideKms(auth, kms, 0).launch.config.publish_session_jwks === false)
    throw new StartupError(
      `publish_session_jwks is false (${auth.loaded.provenance.publish_session_jwks}), but the kms verifies session tokens with the keys that auth publishes: set it to true in auth.toml, or name the keys with auth_verifier_jwks in kms.toml`,
    )
  await requireReachableAuth(auth, kms, authUrl)
}

/**
 * In a joint start, auth publishes its session keys, and its page leads to the kms, unless its settings differ.
 * @param kmsPort on which the kms listens
 */
export function configureBesideKms(
  auth: ServiceConfiguration,
  kms: ServiceConfiguration,
  kmsPort: number,
): ServiceConfiguration {
  const { provenance } = auth.loaded
  const keys = provenance.publish_session_jwks === 'default' ? { publish_session_jwks: true } : {}
  const url = findBrowserUrl(kms, kmsPort)
  const page = provenance.kms_public_url === 'default' && url !== undefined ? { kms_public_url: url } : {}
  return withLaunch(auth, {}, { ...keys, ...page })
}

/**
 * Finds the address of the kms for browsers; undefined: it is not https.
 * @param name in a certificate of the operator that does not cover the listen address
 */
export function findBrowserUrl(
  { launch: { config } }: ServiceConfiguration,
  port: number,
  name?: string,
): string | undefined {
  if (typeof config.kms_public_url === 'string') return config.kms_public_url
  if (config.plaintext_http) return undefined
  const url = formatBaseUrl('https', name ?? config.host, port)
  return hasLocalCertificate(config) ? toBrowserUrl(url) : url
}

/** Whether the local authority of the home issues the certificate, for all names of this machine. */
function hasLocalCertificate({ tls_cert_file: pem, tls_p12_file: p12 }: LaunchConfig): boolean {
  return pem === undefined && p12 === undefined
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
  const isLocal = hasLocalCertificate(auth.launch.config)
  const ca =
    loaded.provenance.auth_verifier_ca_cert === 'default' && isLocal
      ? { auth_verifier_ca_cert: join(launch.home, 'tls', 'ca.crt') }
      : {}
  const token =
    loaded.provenance.vault_auth_verifier_url === 'default'
      ? { vault_auth_verifier_url: url, app_tokens_by_default: true }
      : {}
  const browsers =
    loaded.provenance.auth_public_url === 'default' && isLocal ? { auth_public_url: toBrowserUrl(url) } : {}
  const issuer = loaded.values.auth_verifier_issuer ?? 'published'
  const more = { ...ca, ...token, ...browsers }
  return withLaunch(kms, {}, { auth_verifier_url: url, auth_verifier_issuer: issuer, ...more })
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
