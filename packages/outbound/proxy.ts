import { inHome, readPrivateFile, StartupError } from '@warder/base'
import {
  directly,
  isCredentials,
  type ProxyAddress,
  readNoProxy,
  readProxyAddress,
} from './proxy-settings.ts'
import { loadTrustedAuthorities, type Trust } from './trust.ts'

/** Settings of outbound requests that every service has; paths start at the home. */
export interface OutboundSettings {
  readonly outbound_allow_private_networks: boolean
  readonly outbound_ca_file: string | undefined
  readonly outbound_proxy: string | undefined
  readonly outbound_proxy_credentials_file: string | undefined
  readonly outbound_proxy_resolves: boolean
  readonly outbound_no_proxy: readonly string[]
}

/** The end of a connection. */
export interface Target {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** `http`: requests without TLS. */
  readonly scheme: 'http' | 'tls'
}

/** A server that opens connections for others (RFC 9110 §9.3.6). */
export interface ProxyServer extends Omit<ProxyAddress, 'credentials'> {
  /** `Proxy-Authorization`; undefined = none. A file is read at each use. @throws StartupError */
  authorization(): string | undefined
  /** For TLS to the proxy. @throws StartupError */
  trust(): Trust
}

export interface OutboundProxy {
  /** @returns undefined for a target that is reached directly */
  select(target: Target): ProxyServer | undefined
  /** The proxy resolves names, and keeps connections away from private networks. */
  readonly resolvesNames: boolean
  /** For the log, without credentials. */
  readonly description: Readonly<Record<string, unknown>>
}

/** Settings and authorities of a service's outbound requests. */
export interface OutboundAccess {
  readonly allowPrivateNetworks: boolean
  readonly caFile: string | undefined
  readonly proxy: OutboundProxy | undefined
}

/** @throws StartupError for a proxy that cannot be used */
export function readOutboundAccess(
  config: OutboundSettings,
  home: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): OutboundAccess {
  const { outbound_allow_private_networks: allowPrivateNetworks, outbound_ca_file: file } = config
  const caFile = file === undefined ? undefined : inHome(home, file)
  let loaded: Trust | undefined
  // Read at the first use, since the first start creates the authority of the installation after its settings were
  // checked.
  const trust = (): Trust => {
    loaded ??= loadTrustedAuthorities(caFile)
    return loaded
  }
  return { allowPrivateNetworks, caFile, proxy: readProxy(config, home, trust, env) }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The proxy of the settings, or else that of the variables which many programs share. A setting replaces all of them, so
 * that a variable never changes the way of requests for which a proxy is configured.
 */
function readProxy(
  config: OutboundSettings,
  home: string,
  trust: () => Trust,
  env: Environment,
): OutboundProxy | undefined {
  const { outbound_proxy: setting, outbound_proxy_credentials_file: file } = config
  if (file !== undefined && (setting === undefined || setting === directly))
    throw new StartupError(
      'outbound_proxy_credentials_file requires the address of a proxy in outbound_proxy',
    )
  if (setting === directly) return undefined
  const isSet = setting !== undefined
  const https = isSet ? { from: 'outbound_proxy', text: setting } : readVariable(env, 'HTTPS_PROXY')
  const http = isSet ? https : readVariable(env, 'HTTP_PROXY')
  if (https === undefined && http === undefined) return undefined
  const authFile = file === undefined ? undefined : inHome(home, file)
  const servers = {
    tls: https && createServer(https, authFile, trust),
    http: http && createServer(http, authFile, trust),
  }
  const shared = isSet ? [] : (readVariable(env, 'NO_PROXY')?.text.split(/[,\s]+/) ?? [])
  const entries = [...config.outbound_no_proxy, ...shared.filter((entry) => entry !== '')]
  const { matches, invalid } = readNoProxy(entries)
  return {
    select: ({ host, port, scheme }) =>
      isOwnMachine(host) || matches(host, port) ? undefined : servers[scheme],
    resolvesNames: config.outbound_proxy_resolves,
    description: {
      proxy: servers.tls?.name ?? directly,
      ...(servers.http?.name !== servers.tls?.name && { proxy_for_http: servers.http?.name ?? directly }),
      from: [...new Set([https?.from, http?.from].filter((name) => name !== undefined))].join(', '),
      no_proxy: entries.filter((entry) => !invalid.includes(entry)),
      ...(invalid.length > 0 && { ignored_in_no_proxy: invalid }),
      resolves_names: config.outbound_proxy_resolves,
    },
  }
}

interface Source {
  /** The setting or variable. */
  readonly from: string
  readonly text: string
}

/** The variable in lower case takes precedence, as in curl and Node. */
function readVariable(env: Environment, name: string): Source | undefined {
  for (const from of [name.toLowerCase(), name]) {
    const text = env[from]?.trim() ?? ''
    if (text !== '') return { from, text }
  }
  return undefined
}

function createServer({ from, text }: Source, file: string | undefined, trust: () => Trust): ProxyServer {
  const address = readProxyAddress(text)
  // The text may contain a password.
  if (typeof address === 'string')
    throw new StartupError(
      `${from} ${address}${from === 'outbound_proxy' ? '' : `; outbound_proxy = "${directly}" ignores it`}`,
    )
  const { credentials, ...server } = address
  if (file === undefined)
    return { ...server, trust, authorization: () => credentials && formatBasic(credentials) }
  if (credentials !== undefined)
    throw new StartupError(
      'outbound_proxy has credentials, and outbound_proxy_credentials_file too: use only one',
    )
  const authorization = (): string => formatBasic(readCredentials(file))
  authorization()
  return { ...server, trust, authorization }
}

function readCredentials(path: string): string {
  const setting = 'outbound_proxy_credentials_file'
  const text = readPrivateFile(path, setting)
    .toString()
    .replace(/\r?\n$/, '')
  if (!isCredentials(text))
    throw new StartupError(`${setting}: ${path} must contain exactly one line, USER:PASSWORD`)
  return text
}

/** RFC 7617 */
function formatBasic(credentials: string): string {
  return `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`
}

/** The loopback addresses of a proxy are those of another machine. */
function isOwnMachine(host: string): boolean {
  return /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}
