import { resolve } from 'node:path'
import { homeOf, type Terminal, UsageError } from '../cli/command.ts'
import type { ValuesOf } from '../cli/options.ts'
import type { Server } from '../client/index.ts'
import { requireAuthority } from '../installation/authority.ts'
import { readEndpoints, serverAt } from '../installation/endpoints.ts'
import { nonEmpty } from '../login/login.ts'

/** Addresses of the services, and the authority that certifies them. */
export interface Places {
  readonly home: string
  readonly kms: Server
  /** undefined: not known, so nobody can log in there. */
  readonly auth: Server | undefined
  /** The service is not that of the home. */
  readonly elsewhere: boolean
}

/** Options that say where the services are. */
export const placeOptions = {
  home: { type: 'text', value: 'DIR', help: 'home of the started services on this machine' },
  url: {
    type: 'text',
    value: 'URL',
    help: `another key management service instead: https://kms.example.com:9998\nelse WARDER_URL, unless --home is said`,
  },
  'auth-url': {
    type: 'text',
    value: 'URL',
    help: 'the authentication service to log in to, with --url; else WARDER_AUTH_URL',
  },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: `certificate authority to trust; else WARDER_CA_FILE\n(default: as HOME/endpoints.json says; with --url the system's)`,
  },
} as const

/** Environment variables that say the same, unless a home is given. */
const variables = { url: 'WARDER_URL', 'auth-url': 'WARDER_AUTH_URL', 'ca-file': 'WARDER_CA_FILE' } as const

/** The places as the command's words name them. */
export interface PlaceOptions {
  readonly home: string
  readonly url: string | undefined
  readonly authUrl: string | undefined
  readonly caFile: string | undefined
}

/** @throws UsageError */
export function readPlaceOptions(values: ValuesOf<typeof placeOptions>, env: Terminal['env']): PlaceOptions {
  const given = (name: keyof typeof variables): string | undefined =>
    // A given home means its services.
    values[name] ?? (values.home === undefined ? nonEmpty(env[variables[name]]) : undefined)
  return {
    home: resolve(homeOf(values.home, env)),
    url: address('url', given('url')),
    authUrl: address('auth-url', given('auth-url')),
    caFile: given('ca-file'),
  }
}

/**
 * The services of the home, or the ones at `--url` and `--auth-url`.
 * @throws StartupError when they are not started
 */
export function findPlaces({ home, url, authUrl, caFile }: PlaceOptions): Places {
  if (caFile !== undefined) requireAuthority(caFile)
  const named = authUrl === undefined ? undefined : { url: authUrl, caFile }
  if (url !== undefined) return { home, kms: { url, caFile }, auth: named, elsewhere: true }
  const { auth, kms } = readEndpoints(home)
  const found = serverAt(home, auth, caFile)
  return {
    home,
    kms: serverAt(home, kms, caFile),
    // At another address is another server, and its certificate is not the one that the home speaks of.
    auth: authUrl === undefined ? found : { url: authUrl, caFile: found.caFile },
    elsewhere: false,
  }
}

/** @throws UsageError for what is no address */
function address(name: 'url' | 'auth-url', url: string | undefined): string | undefined {
  if (url !== undefined && !/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError(`--${name} (${variables[name]}) is like https://kms.example.com:9998, not '${url}'`)
  return url
}
