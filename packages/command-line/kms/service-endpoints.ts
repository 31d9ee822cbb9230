import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError, suggest } from '@warder/base'
import { findHome } from '../commands/command.ts'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import {
  type Context,
  type Contexts,
  findAuthority,
  findConfigFolder,
  localName,
  readContexts,
} from '../contexts/context-store.ts'
import { readEndpoints, requireAuthority, toServer } from '../endpoints.ts'
import type { Server } from '../https-client.ts'
import { nonEmpty } from '../login/login.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Addresses of the services, and the authority that certifies them. */
export interface ServiceEndpoints {
  readonly home: string
  /** Folder below which the logins for these services are stored. */
  readonly logins: string
  /** Name of the context that contains the addresses; undefined: none. */
  readonly context?: string | undefined
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
    help: `address of another key management service: https://kms.example.com:9998
(default: WARDER_URL, unless --home is given; else that of the context)`,
  },
  'auth-url': {
    type: 'text',
    value: 'URL',
    help: 'address of the authentication service, with --url (default: WARDER_AUTH_URL)',
  },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: `certificate authority to trust (default: WARDER_CA_FILE, else that of the context, else from
HOME/endpoints.json; with --url the system's)`,
  },
  context: {
    type: 'text',
    value: 'NAME',
    help: `services that warder login --url remembered (default: the current context, see warder context,
unless --home, WARDER_HOME or an address is given; ${localName}: none)`,
  },
} as const

/** Environment variables of these options, ignored with --home. */
const variables = { url: 'WARDER_URL', 'auth-url': 'WARDER_AUTH_URL', 'ca-file': 'WARDER_CA_FILE' } as const

/** The addresses in the options, or in a context. */
export interface EndpointOptions {
  readonly home: string
  readonly logins: string
  readonly url: string | undefined
  readonly authUrl: string | undefined
  readonly caFile: string | undefined
  readonly context: string | undefined
}

/**
 * Reads where the services are: from options, else variables, else the context, else the home of this folder.
 * @throws UsageError; StartupError for a context that does not exist, or whose file cannot be trusted
 */
export function readEndpointOptions(
  values: ValuesOf<typeof endpointOptions>,
  env: Terminal['env'],
): EndpointOptions {
  if (values.context !== undefined && (values.home !== undefined || values.url !== undefined))
    throw new UsageError(`--context excludes --${values.home === undefined ? 'url' : 'home'}`)
  const readValue = (name: keyof typeof variables): string | undefined =>
    // --home selects the services of that home.
    values[name] ?? (values.home === undefined ? nonEmpty(env[variables[name]]) : undefined)
  const url = values.context === undefined ? readAddress('url', readValue('url')) : undefined
  const authUrl = readAddress('auth-url', readValue('auth-url'))
  const caFile = readValue('ca-file')
  const isHomeGiven = (values.home ?? nonEmpty(env.WARDER_HOME)) !== undefined
  const home = findHome(values.home, env)
  const selected =
    values.context !== undefined || (url === undefined && !isHomeGiven)
      ? selectContext(values.context, env)
      : undefined
  // Sessions for services elsewhere, or of the installed package, are kept for the user, in every folder.
  const ownLogins = isHomeGiven || (!home.isForeign && url === undefined && selected === undefined)
  const logins = ownLogins ? resolve(home.path) : (findConfigFolder(env) ?? resolve(home.path))
  return {
    home: resolve(home.path),
    logins,
    url: url ?? selected?.context.url,
    authUrl: authUrl ?? selected?.context.authUrl,
    caFile:
      caFile ?? (selected === undefined ? undefined : findAuthority(selected.contexts, selected.context)),
    context: selected?.name,
  }
}

interface SelectedContext {
  readonly name: string
  readonly context: Context
  readonly contexts: Contexts
}

/** @param named name on the line; undefined: the current one @throws StartupError when there is none of this name */
function selectContext(named: string | undefined, env: Terminal['env']): SelectedContext | undefined {
  if (named === localName) return undefined
  const contexts = readContexts(env)
  const name = named ?? contexts?.current
  if (name === undefined) return undefined
  const context = contexts?.contexts.get(name)
  if (context !== undefined && contexts !== undefined) return { name, context, contexts }
  const names = [...(contexts?.contexts.keys() ?? [])]
  throw new StartupError(`there is no context '${name}': see warder context list${suggest(name, names)}`)
}

/** A note for users who may expect the services of the current folder; undefined if there are none. */
export function describeContext({ context, home, kms }: ServiceEndpoints): string | undefined {
  if (context === undefined || !existsSync(join(home, 'endpoints.json'))) return undefined
  return `using the context ${context} (${kms.url}), not the services of ${home}: --context ${localName} uses those`
}

/**
 * Finds the services of the home, or the ones at `--url` and `--auth-url`.
 * @throws StartupError when they are not started
 */
export function findServiceEndpoints(options: EndpointOptions): ServiceEndpoints {
  const { home, logins, url, authUrl, caFile, context } = options
  if (caFile !== undefined) requireAuthority(caFile)
  const named = authUrl === undefined ? undefined : { url: authUrl, caFile }
  if (url !== undefined) return { home, logins, context, kms: { url, caFile }, auth: named, isRemote: true }
  const { auth, kms } = readEndpoints(home)
  const found = toServer(home, auth, caFile)
  return {
    ...{ home, logins, kms: toServer(home, kms, caFile) },
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
