import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  createLookup,
  findRoute,
  type Guard,
  OutboundError,
  type Route,
  requireNoLinkLocal,
  stripBrackets,
  toOutboundError,
} from './guard.ts'
import { readWhole, send } from './http-client.ts'
import { loadTrustedAuthorities } from './trust.ts'
import { openConnection } from './tunnel.ts'

export interface OutboundOptions extends Guard {
  /** Whether private addresses include link-local ones, where clouds serve credentials to machines; default true. */
  readonly allowLinkLocal?: boolean
  /** PEM of authorities trusted besides those of Node. */
  readonly caFile?: string | undefined
  /** For the whole exchange; default 5000. */
  readonly timeoutMs?: number
  /** Largest response body; default 1 MiB. */
  readonly maxBytes?: number
}

/**
 * The client for requests that services send by themselves. https only; a redirect is a failure; names are resolved
 * here, every address is checked, and the connection goes to the address that was checked, so that a name cannot answer
 * differently the second time. Through a proxy, TLS begins behind it: it sees neither requests nor responses.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const timeoutMs = options.timeoutMs ?? 5000
  const maxBytes = options.maxBytes ?? 1_048_576
  const agent = new RoutedAgent({
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
    const port = url.port === '' ? 443 : Number(url.port)
    const route = await findRoute({ host, port, scheme: 'tls' }, options, deadline)
    if (options.allowLinkLocal === false)
      requireNoLinkLocal(
        host,
        route.addresses ?? (isIP(host) === 0 ? [] : [{ address: host, family: isIP(host) }]),
      )
    const asked: RoutedOptions = {
      method,
      agent,
      signal: deadline,
      servername: isIP(host) === 0 ? host : '',
      headers: { ...headers },
      lookup: createLookup(route.addresses ?? []),
      way: { route, deadline },
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

/** Options of a request, which Node passes to the agent when the request needs a connection. */
interface RoutedOptions extends RequestOptions {
  readonly way?: { readonly route: Route; readonly deadline: AbortSignal }
}

/** Keeps connections, and opens them by the route that was chosen for the request. */
class RoutedAgent extends Agent {
  override createConnection(
    options: RoutedOptions,
    done?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const { way, ...rest } = options
    if (way?.route.proxy === undefined) return super.createConnection(rest, done)
    openConnection(way.route, way.deadline).then(
      (socket) => done?.(null, super.createConnection({ ...rest, socket } as RequestOptions) as Duplex),
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    )
    return undefined
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
