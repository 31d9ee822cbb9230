import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kmsClient } from '@warder/client'
import { settingsToml } from '@warder/foundation/config'
import { StartupError } from '@warder/foundation/errors'
import { clientOf } from '../client/index.ts'
import { configure } from '../installation/configuration.ts'
import { initialPasswordFile, readEndpoints, serverAt } from '../installation/endpoints.ts'
import { throwAwayEnvironment, whileStarted } from '../installation/throw-away.ts'
import { logIn, readAccount } from '../kms/account.ts'
import type { KmsContext } from '../kms/verb.ts'
import { type AskKacls, askerOfKacls } from './google-answers.ts'
import type { GoogleParties } from './google-parties.ts'

const section = 'google_cse_config.google_cse_'

/** Settings of the installation that a rehearsal takes over. */
export interface RehearsedSettings {
  readonly ownerDomain: string
  /** Empty: the rehearsal has one of its own. */
  readonly administrators: readonly string[]
  /** Guests are let in. */
  readonly guests: boolean
  readonly fips: boolean
}

/** @throws StartupError where they do not switch client-side encryption on */
export function rehearsedSettings({ places, env }: KmsContext): RehearsedSettings {
  if (places.elsewhere)
    throw new StartupError(
      'a rehearsal reads the settings in the home of the service: run it there, without --url',
    )
  const values: Readonly<Record<string, unknown>> = configure('kms', places.home, [], env).loaded.values
  if (values[`${section}enable`] !== true)
    throw new StartupError('google: off: the settings of the server do not switch it on')
  return {
    ownerDomain: String(values[`${section}owner_domain`]),
    administrators: listOf(values[`${section}administrators`]),
    guests: listOf(values[`${section}guest_identity_providers`]).length > 0,
    fips: values.fips === true,
  }
}

/** Administrator in the rehearsal. */
export function administratorOf({ administrators, ownerDomain }: RehearsedSettings): string {
  return administrators[0] ?? `administrator@${ownerDomain}`
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

/** A key service that trusts the parties of the rehearsal, and nobody else. */
export interface RehearsalRoom {
  readonly ask: AskKacls
  readonly kaclsUrl: string
}

/**
 * Starts a Warder in a home that is thrown away: with keys, a database and settings of its own, on loopback. It is started
 * twice, since settings name keys that have to be there. Nothing of the installation is opened or changed.
 */
export async function inRehearsalRoom<T>(
  { env, signal }: KmsContext,
  settings: RehearsedSettings,
  parties: GoogleParties,
  use: (room: RehearsalRoom) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-rehearsal-'))
  const home = join(folder, 'home')
  const unnamed = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('WARDER_')))
  const own = { ...throwAwayEnvironment(unnamed), AUTH_WORKERS: '1', KMS_WORKERS: '1' }
  const what = 'the services of the rehearsal'
  try {
    mkdirSync(home, { mode: 0o700 })
    const keys = await whileStarted(home, own, what, () => makeKeys(home), signal)
    writeFileSync(join(home, 'rehearsal.crt'), parties.authority)
    writeFileSync(join(home, 'kms.toml'), settingsToml(settingsFor(settings, parties, keys)))
    return await whileStarted(home, own, what, () => askIn(home, use, signal), signal)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function askIn<T>(
  home: string,
  use: (room: RehearsalRoom) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { kms } = readEndpoints(home)
  const http = clientOf(serverAt(home, kms))
  signal.addEventListener('abort', () => http.close(), { once: true })
  try {
    return await use({ ask: askerOfKacls(http), kaclsUrl: `${kms.url.replace(/\/+$/, '')}/google_cse` })
  } finally {
    http.close()
  }
}

interface RoomKeys {
  readonly wrapping: string
  readonly signing: string
}

/** As `enable` makes them, by the administrator of the home. */
async function makeKeys(home: string): Promise<RoomKeys> {
  const endpoints = readEndpoints(home)
  const server = serverAt(home, endpoints.kms)
  const auth = clientOf(serverAt(home, endpoints.auth))
  const nobody = async (): Promise<string> => ''
  const prompter = { interactive: false, ask: nobody, askSecret: nobody }
  const { credentials, end } = await logIn(auth, readAccount(noWords), {
    ...{ env: {}, prompter },
    initialPassword: initialPasswordFile(home, endpoints.auth.url),
  })
  const ca = server.caFile === undefined ? undefined : readFileSync(server.caFile, 'utf8')
  const kms = kmsClient({ url: server.url, ca, serverName: server.serverName, credentials })
  try {
    const granted = async (body: { kty: string; alg: string; bits?: number }, rights: string[]) => {
      const { kid } = await kms.call('crypto.keys.create', { body })
      const grant = { unique_identifier: kid, user_id: 'google:*', operation_types: rights }
      await kms.call('access.grant', { body: grant })
      return kid
    }
    return {
      wrapping: await granted({ kty: 'oct', alg: 'A256GCM' }, ['encrypt', 'decrypt']),
      signing: await granted({ kty: 'RSA', bits: 2048, alg: 'RS256' }, ['sign']),
    }
  } finally {
    kms.close()
    await end()
    auth.close()
  }
}

const noWords = {
  'token-file': undefined,
  user: undefined,
  realm: undefined,
  'password-file': undefined,
  'totp-code': undefined,
}

function settingsFor(
  settings: RehearsedSettings,
  parties: GoogleParties,
  { wrapping, signing }: RoomKeys,
): ReadonlyMap<string, unknown> {
  const { ownerDomain, guests, fips } = settings
  const provider = (party: 'provider' | 'guests'): string => {
    const issuer = parties.issuerOf(party)
    return `${issuer},${parties.keySets}${encodeURIComponent(issuer)},rehearsal`
  }
  return new Map<string, unknown>([
    ['fips', fips],
    ['outbound_allow_private_networks', true],
    ['outbound_ca_file', 'rehearsal.crt'],
    [`${section}enable`, true],
    [`${section}key`, wrapping],
    [`${section}signing_key`, signing],
    [`${section}owner_domain`, ownerDomain],
    [`${section}administrators`, [administratorOf(settings)]],
    [`${section}identity_providers`, [provider('provider')]],
    [`${section}guest_identity_providers`, guests ? [provider('guests')] : []],
    [`${section}incoming_url_whitelist`, [parties.peerUrl]],
    [`${section}authorization_keys`, parties.keySets],
  ])
}
