import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartupError } from '@warder/base'
import { kmsClient } from '@warder/client'
import { findInitialPasswordFile, readEndpoints, toServer } from '@warder/command-line/endpoints'
import { openClient } from '@warder/command-line/https-client'
import { type KmsContext, logInOnce, readAccount } from '@warder/command-line/kms'
import { formatSettingsToml } from '@warder/runtime/settings'
import { configure, createTempEnvironment, withStartedServices } from 'warder/testing'
import { type AskKacls, createKaclsClient } from './google-answers.ts'
import type { MockProviders } from './google-mock-providers.ts'

const section = 'google_cse_config.google_cse_'

/** Settings of the installation that a self-test uses. */
export interface SelfTestSettings {
  readonly ownerDomain: string
  /** Empty: the self-test uses a made-up one. */
  readonly administrators: readonly string[]
  /** Guests are accepted. */
  readonly guests: boolean
  readonly fips: boolean
}

/** @throws StartupError when they do not enable client-side encryption */
export function readSelfTestSettings({ endpoints: places, env }: KmsContext): SelfTestSettings {
  if (places.isRemote)
    throw new StartupError(
      '--rehearse reads the settings in the home of the service: run it on its machine, without --url',
    )
  const values: Readonly<Record<string, unknown>> = configure('kms', places.home, [], env).loaded.values
  if (values[`${section}enable`] !== true)
    throw new StartupError(
      'google: disabled in the settings of the server: run warder external google enable',
    )
  return {
    ownerDomain: String(values[`${section}owner_domain`]),
    administrators: toList(values[`${section}administrators`]),
    guests: toList(values[`${section}guest_identity_providers`]).length > 0,
    fips: values.fips === true,
  }
}

/** Selects the administrator of the self-test. */
export function selectAdministrator({ administrators, ownerDomain }: SelfTestSettings): string {
  return administrators[0] ?? `administrator@${ownerDomain}`
}

function toList(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

/** A key service that trusts only the mock providers. */
export interface SelfTestInstallation {
  readonly ask: AskKacls
  readonly kaclsUrl: string
}

/**
 * Starts a temporary installation on loopback, with its own keys, database and settings. It is started twice, because the
 * settings name keys that must exist first. Does not open or change the real installation.
 */
export async function withTempInstallation<T>(
  { env, signal }: KmsContext,
  settings: SelfTestSettings,
  providers: MockProviders,
  use: (installation: SelfTestInstallation) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-rehearsal-'))
  const home = join(folder, 'home')
  const unnamed = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('WARDER_')))
  const own = { ...createTempEnvironment(unnamed), AUTH_WORKERS: '1', KMS_WORKERS: '1' }
  const what = 'the services of the self-test'
  try {
    mkdirSync(home, { mode: 0o700 })
    const keys = await withStartedServices(home, own, what, () => makeKeys(home), signal)
    writeFileSync(join(home, 'rehearsal.crt'), providers.authority)
    writeFileSync(join(home, 'kms.toml'), formatSettingsToml(buildSettings(settings, providers, keys)))
    return await withStartedServices(home, own, what, () => withKaclsClient(home, use, signal), signal)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function withKaclsClient<T>(
  home: string,
  use: (installation: SelfTestInstallation) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { kms } = readEndpoints(home)
  const http = openClient(toServer(home, kms))
  signal.addEventListener('abort', () => http.close(), { once: true })
  try {
    return await use({ ask: createKaclsClient(http), kaclsUrl: `${kms.url.replace(/\/+$/, '')}/google_cse` })
  } finally {
    http.close()
  }
}

interface SelfTestKeys {
  readonly wrapping: string
  readonly signing: string
}

/** Creates keys like `enable`, as the administrator of the temporary home. */
async function makeKeys(home: string): Promise<SelfTestKeys> {
  const endpoints = readEndpoints(home)
  const server = toServer(home, endpoints.kms)
  const auth = openClient(toServer(home, endpoints.auth))
  const answerNothing = async (): Promise<string> => ''
  const prompter = { interactive: false, ask: answerNothing, askSecret: answerNothing }
  const { credentials, end } = await logInOnce(auth, readAccount(noOptions), {
    ...{ env: {}, prompter },
    initialPassword: findInitialPasswordFile(home, endpoints.auth.url),
  })
  const ca = server.caFile === undefined ? undefined : readFileSync(server.caFile, 'utf8')
  const kms = kmsClient({ url: server.url, ca, serverName: server.serverName, credentials })
  try {
    const createGrantedKey = async (body: { kty: string; alg: string; bits?: number }, rights: string[]) => {
      const { kid } = await kms.call('crypto.keys.create', { body })
      const grant = { unique_identifier: kid, user_id: 'google:*', operation_types: rights }
      await kms.call('access.grant', { body: grant })
      return kid
    }
    return {
      wrapping: await createGrantedKey({ kty: 'oct', alg: 'A256GCM' }, ['encrypt', 'decrypt']),
      signing: await createGrantedKey({ kty: 'RSA', bits: 2048, alg: 'RS256' }, ['sign']),
    }
  } finally {
    kms.close()
    await end()
    auth.close()
  }
}

const noOptions = {
  'token-file': undefined,
  user: undefined,
  realm: undefined,
  'password-file': undefined,
  'totp-code': undefined,
}

function buildSettings(
  settings: SelfTestSettings,
  providers: MockProviders,
  { wrapping, signing }: SelfTestKeys,
): ReadonlyMap<string, unknown> {
  const { ownerDomain, guests, fips } = settings
  const formatProvider = (provider: 'provider' | 'guests'): string => {
    const issuer = providers.getIssuer(provider)
    return `${issuer},${providers.keySets}${encodeURIComponent(issuer)},rehearsal`
  }
  return new Map<string, unknown>([
    ['fips', fips],
    ['outbound_allow_private_networks', true],
    ['outbound_ca_file', 'rehearsal.crt'],
    [`${section}enable`, true],
    [`${section}key`, wrapping],
    [`${section}signing_key`, signing],
    [`${section}owner_domain`, ownerDomain],
    [`${section}administrators`, [selectAdministrator(settings)]],
    [`${section}identity_providers`, [formatProvider('provider')]],
    [`${section}guest_identity_providers`, guests ? [formatProvider('guests')] : []],
    [`${section}incoming_url_whitelist`, [providers.peerUrl]],
    [`${section}authorization_keys`, providers.keySets],
  ])
}
