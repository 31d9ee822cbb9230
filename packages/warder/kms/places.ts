import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { homeOf, type Terminal, UsageError } from '../cli/command.ts'
import type { ValuesOf } from '../cli/options.ts'

/** Where the services are, and whom to trust about it. */
export interface Places {
  readonly home: string
  readonly kmsUrl: string
  /** undefined: not known, so nobody can log in there. */
  readonly authUrl: string | undefined
  /** undefined: the system's authorities. */
  readonly caFile: string | undefined
}

/** Options that say where the services are. */
export const placeOptions = {
  home: { type: 'text', value: 'DIR', help: 'home of the started services on this machine' },
  url: {
    type: 'text',
    value: 'URL',
    help: 'another key management service instead: https://kms.example.com:9998',
  },
  'auth-url': { type: 'text', value: 'URL', help: 'the authentication service to log in to, with --url' },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: "certificate authority to trust (default: HOME/tls/ca.crt; with --url the system's)",
  },
} as const

/** The places as the command's words name them. */
export interface PlaceOptions {
  readonly home: string
  readonly url: string | undefined
  readonly authUrl: string | undefined
  readonly caFile: string | undefined
}

/** @throws UsageError */
export function readPlaceOptions(values: ValuesOf<typeof placeOptions>, env: Terminal['env']): PlaceOptions {
  return {
    home: resolve(homeOf(values.home, env)),
    url: addressIn(values, 'url'),
    authUrl: addressIn(values, 'auth-url'),
    caFile: values['ca-file'],
  }
}

/**
 * The services of the home, or the ones at `--url` and `--auth-url`.
 * @throws StartupError when they are not started
 */
export function findPlaces({ home, url, authUrl, caFile }: PlaceOptions): Places {
  if (caFile !== undefined) requireAuthority(caFile)
  if (url !== undefined) return { home, kmsUrl: url, authUrl, caFile }
  const path = join(home, 'endpoints.json')
  if (!existsSync(path)) {
    throw new StartupError(`${path} is not there: are the services started? (npm start, with the same home)`)
  }
  const endpoints = readEndpoints(path)
  const localCa = join(home, 'tls', 'ca.crt')
  return {
    home,
    kmsUrl: endpoints.kms,
    authUrl: authUrl ?? endpoints.auth,
    caFile: caFile ?? (existsSync(localCa) ? localCa : undefined),
  }
}

/** @throws StartupError for a file with which no server would be trusted, whatever its certificate */
export function requireAuthority(file: string): void {
  if (!existsSync(file)) throw new StartupError(`${file} is not there`)
  try {
    new X509Certificate(readFileSync(file))
  } catch {
    throw new StartupError(`${file} holds no certificate in PEM`)
  }
}

function readEndpoints(path: string): { readonly auth: string; readonly kms: string } {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // Said below.
  }
  const { auth, kms } = (json ?? {}) as { auth?: { url?: unknown }; kms?: { url?: unknown } }
  if (typeof auth?.url === 'string' && typeof kms?.url === 'string') return { auth: auth.url, kms: kms.url }
  throw new StartupError(`${path} does not say where the services are: start them again`)
}

function addressIn(values: ValuesOf<typeof placeOptions>, name: 'url' | 'auth-url'): string | undefined {
  const url = values[name]
  if (url !== undefined && !/^https:\/\/[^/@?#]+\/?$/.test(url)) {
    throw new UsageError(`--${name} is like https://kms.example.com:9998`)
  }
  return url
}
