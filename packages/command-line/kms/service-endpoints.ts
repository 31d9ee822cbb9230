import { resolve } from 'node:path'
import { selectHome } from '../commands/command.ts'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import { readEndpoints, requireAuthority, toServer } from '../endpoints.ts'
import type { Server } from '../https-client.ts'
import { nonEmpty } from '../login/login.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Addresses of the services, and the authority that certifies them. */
export interface ServiceEndpoints {
  readonly home: string
  readonly kms: Server
  /** undefined: not known, so a login is not possible. */
  readonly auth: Server | undefined
  /** The service is not the one of the home. */
  readonly isRemote: boolean
}

/** Options with the addresses of the services. */
export const endpointOptions = {
  home: { type: 'text', value: 'DIR', help: 'home of the running services on this machine' },
  url: {
    type: 'text',
    value: 'URL',
    help: `address of another key management service: https://kms.example.com:9998\n(default: WARDER_URL, unless --home is given)`,
  },
  'auth-url': {
    type: 'text',
    value: 'URL',
    help: 'address of the authentication service, with --url (default: WARDER_AUTH_URL)',
  },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: `certificate authority to trust\n(default: WARDER_CA_FILE, else from HOME/endpoints.json; with --url the system's)`,
  },
} as const

/** Environment variables of these options, ignored with --home. */
const variables = { url: 'WARDER_URL', 'auth-url': 'WARDER_AUTH_URL', 'ca-file': 'WARDER_CA_FILE' } as const

/** The addresses in the options. */
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
    // --home selects the services of that home.
    values[name] ?? (values.home === undefined ? nonEmpty(env[variables[name]]) : undefined)
  return {
    home: resolve(selectHome(values.home, env)),
    url: readAddress('url', readValue('url')),
    authUrl: readAddress('auth-url', readValue('auth-url')),
    caFile: readValue('ca-file'),
  }
}

/**
 * Finds the services of the home, or the ones at `--url` and `--auth-url`.
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
    // Another address is another server, so the certificate name in the home does not apply.
    auth: authUrl === undefined ? found : { url: authUrl, caFile: found.caFile },
    isRemote: false,
  }
}

/** @throws UsageError for an invalid address */
function readAddress(name: 'url' | 'auth-url', url: string | undefined): string | undefined {
  if (url !== undefined && !/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError(
      `--${name} (${variables[name]}) must have the form https://kms.example.com:9998, not '${url}'`,
    )
  return url
}
