import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent } from 'node:https'
import { isIP } from 'node:net'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { StartupError } from '@warder/base'
import {
  createLookup,
  OutboundError,
  type Resolve,
  requireNoLinkLocal,
  resolveAllowedAddresses,
  stripBrackets,
  systemResolve,
  toOutboundError,
} from './guard.ts'
import { readWhole, send } from './http-client.ts'

export interface OutboundOptions {
  readonly allowPrivateNetworks: boolean
  /** Whether private addresses include link-local ones, where clouds serve credentials to machines; default true. */
  readonly allowLinkLocal?: boolean
  /** PEM of authorities trusted besides those of Node. */
  readonly caFile?: string | undefined
  /** For the whole exchange; default 5000. */
  readonly timeoutMs?: number
  /** Largest response body; default 1 MiB. */
  readonly maxBytes?: number
  /** Name resolution; a test passes its own. */
  readonly resolve?: Resolve
}

/**
 * The client for requests that services send by themselves. https only; a redirect is a failure; names are resolved
 * here, every address is checked, and the connection goes to the address that was checked, so that a name cannot answer
 * differently the second time.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const timeoutMs = options.timeoutMs ?? 5000
  const maxBytes = options.maxBytes ?? 1_048_576
  const resolve = options.resolve ?? systemResolve
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 8,
    maxTotalSockets: 64,
    timeout: 30_000,
    // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED would disable it.
    rejectUnauthorized: true,
    ...loadTrustedAuthorities(options.caFile),
  })

  const exchange = async (
    method: 'GET' | 'POST' | 'DELETE',
    address: string,
    body: Uint8Array | undefined,
    headers: Readonly<Record<string, string>> | undefined,
    signal?: AbortSignal,
  ): Promise<OutboundResponse> => {
    const url = parseUrl(address)
    const host = stripBrackets(url)
    const late = AbortSignal.timeout(timeoutMs)
    const deadline = signal === undefined ? late : AbortSignal.any([late, signal])
    const pinned = await resolveAllowedAddresses(host, resolve, options.allowPrivateNetworks, deadline)
    if (options.allowLinkLocal === false) requireNoLinkLocal(host, pinned)
    const asked = {
      method,
      agent,
      signal: deadline,
      servername: isIP(host) === 0 ? host : '',
      headers: { ...headers },
      lookup: createLookup(pinned),
    }
    try {
      const incoming = await send(url, asked, body)
      const status = incoming.statusCode ?? 0
      if (status >= 300 && status < 400) {
        incoming.destroy()
        throw new OutboundError('redirect', `${url.origin} redirects`)
      }
      return { status, headers: flattenHeaders(incoming), body: await readWhole(incoming, maxBytes) }
    } catch (error) {
      throw toOutboundError(error, deadline)
    }
  }

  return {
    get: (url, more) => exchange('GET', url, undefined, more?.headers, more?.signal),
    post: (url, body, more) => exchange('POST', url, body, more?.headers),
    delete: (url, body, more) => exchange('DELETE', url, body, more?.headers),
  }
}

function parseUrl(address: string): URL {
  if (!URL.canParse(address)) throw new OutboundError('url', 'not a URL')
  const url = new URL(address)
  if (url.protocol !== 'https:') throw new OutboundError('url', 'only https is allowed')
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('url', 'a URL with credentials is not allowed')
  return url
}

export function flattenHeaders(incoming: IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(incoming.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  return headers
}

/**
 * The usual authorities, and those of a file besides, for all connections of a client. Read for each connection they took 0.8 MiB
 * outside of the heap, which a thread that is seldom collected kept after the connection had ended.
 * @param caFile PEM
 * @throws StartupError when it cannot be read
 */
export function loadTrustedAuthorities(caFile: string | undefined): { secureContext?: SecureContext } {
  if (caFile === undefined) return {}
  try {
    const ca = [...rootCertificates, readFileSync(caFile, 'utf8')]
    return { secureContext: createSecureContext({ ca }) }
  } catch (error) {
    throw new StartupError(`cannot read ${caFile}: ${error instanceof Error ? error.message : error}`)
  }
}

export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** Requests of a service to others: https only, no redirects, bounded in time and size, public addresses only by default. */
export interface Outbound {
  get(
    url: string,
    options?: {
      readonly headers?: Readonly<Record<string, string>>
      /** Lets go of the exchange before its time. */
      readonly signal?: AbortSignal
    },
  ): Promise<OutboundResponse>
  post(
    url: string,
    body: Uint8Array,
    options?: { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<OutboundResponse>
  delete(
    url: string,
    body: Uint8Array,
    options?: { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<OutboundResponse>
}
