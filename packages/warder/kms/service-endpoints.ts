import { resolve } from 'node:path'
import { selectHome, type Terminal, UsageError } from '../cli/command.ts'
import type { ValuesOf } from '../cli/options.ts'
import type { Server } from '../client/index.ts'
import { requireAuthority } from '../installation/authority.ts'
import { readEndpoints, toServer } from '../installation/endpoints.ts'
import { nonEmpty } from '../login/login.ts'

/** Addresses of the services, and the authority that certifies them. */
export interface ServiceEndpoints {
  readonly home: string
  readonly kms: Server
  /** undefined: not known, so nobody can log in there. */
  readonly auth: Server | undefined
  /** The service is not that of the home. */
  readonly isRemote: boolean
}

/** Options that say where the services are. */
export const endpointOptions = {
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
export interface EndpointOptions {
  readonly home: string
  readonly url: string | undefined
  readonly authUrl: string | undefined
  readonly caFile: string | undefined
}

/** @throws UsageError */
export function readEndpointOptions(
  values: ValuesOf<typeof endpointOptions>,
  env: Terminal['env'],
): EndpointOptions {
  const readValue = (name: keyof typeof variables): string | undefined =>
    // A given home means its services.
    values[name] ?? (values.home === undefined ? nonEmpty(env[variables[name]]) : undefined)
  return {
    home: resolve(selectHome(values.home, env)),
    url: readAddress('url', readValue('url')),
    authUrl: readAddress('auth-url', readValue('auth-url')),
    caFile: readValue('ca-file'),
  }
}

/**
 * The services of the home, or the ones at `--url` and `--auth-url`.
 * @throws StartupError when they are not started
 */
export function findServiceEndpoints({ home, url, authUrl, caFile }: EndpointOptions): ServiceEndpoints {
  if (caFile !== undefined) requireAuthority(caFile)
  const named = authUrl === undefined ? undefined : { url: authUrl, caFile }
  if (url !== undefined) return { home, kms: { url, caFile }, auth: named, isRemote: true }
  const { auth, kms } = readEndpoints(home)
  const found = toServer(home, auth, caFile)
  return {
    home,
    kms: toServer(home, kms, caFile),
    // At another address is another server, and its certificate is not the one that the home speaks of.
    auth: authUrl === undefined ? found : { url: authUrl, caFile: found.caFile },
    isRemote: false,
  }
}

/** @throws UsageError for what is no address */
function readAddress(name: 'url' | 'auth-url', url: string | undefined): string | undefined {
  if (url !== undefined && !/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError(`--${name} (${variables[name]}) is like https://kms.example.com:9998, not '${url}'`)
  return url
}
