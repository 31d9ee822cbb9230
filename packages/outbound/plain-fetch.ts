import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import {
  createLookup,
  findRoute,
  type Guard,
  OutboundError,
  type Route,
  stripBrackets,
  toOutboundError,
} from './guard.ts'
import { readWhole, send } from './http-client.ts'
import { connectToProxy, openConnection, requireCredentials } from './tunnel.ts'

export interface PlainFetchOptions extends Guard {
  /** Permitted ports, also of redirects; default 80 and 443. */
  readonly ports?: readonly number[] | 'any'
  /** Redirects that are followed, each to an address that is checked again. */
  readonly maxRedirects: number
  /** Largest response body. */
  readonly maxBytes: number
  /** For the whole exchange, redirects included. */
  readonly timeoutMs: number
}

export interface PlainResponse {
  readonly status: number
  readonly body: Uint8Array
  /** Redirects that were followed. */
  readonly redirects: number
}

export interface PlainFetch {
  /** GET. @throws OutboundError */
  get(url: string): Promise<PlainResponse>
  /** POST, without redirects. @param type of the body @throws OutboundError */
  post(url: string, type: string, body: Uint8Array): Promise<PlainResponse>
}

/**
 * Fetches data that is verified by its content or by a signature: over HTTP without TLS, and over HTTPS without
 * verification of the certificate. The data is never secret, and never trusted because of its origin.
 */
export function createPlainFetch(options: PlainFetchOptions): PlainFetch {
  const { maxRedirects, maxBytes, timeoutMs, ports = [80, 443] } = options

  const once = async (
    url: URL,
    deadline: AbortSignal,
    posted?: { readonly type: string; readonly body: Uint8Array },
  ): Promise<IncomingMessage> => {
    const target = { host: stripBrackets(url), port: requirePlain(url, ports) }
    const isPlain = url.protocol === 'http:'
    const route = await findRoute({ ...target, scheme: isPlain ? 'http' : 'tls' }, options, deadline)
    const way = selectWay(url, route, deadline)
    const exchange = {
      ...way,
      method: posted === undefined ? 'GET' : 'POST',
      signal: deadline,
      headers: {
        ...{ accept: '*/*', 'user-agent': 'Warder', connection: 'close' },
        ...(posted && { 'content-type': posted.type }),
        ...way.headers,
      },
      ...(!isPlain && { rejectUnauthorized: false, servername: isIP(target.host) === 0 ? target.host : '' }),
    }
    const incoming = await send(url, exchange, posted?.body)
    if (incoming.statusCode === 407 && route.proxy !== undefined) {
      incoming.destroy()
      throw requireCredentials(route.proxy, incoming)
    }
    return incoming
  }

  return {
    async post(address, type, body) {
      const deadline = AbortSignal.timeout(timeoutMs)
      try {
        const incoming = await once(parseUrl(address), deadline, { type, body })
        return { status: incoming.statusCode ?? 0, body: await readWhole(incoming, maxBytes), redirects: 0 }
      } catch (error) {
        throw toOutboundError(error, deadline)
      }
    },
    async get(address) {
      const deadline = AbortSignal.timeout(timeoutMs)
      try {
        let url = parseUrl(address)
        for (let redirects = 0; ; redirects += 1) {
          const incoming = await once(url, deadline)
          const status = incoming.statusCode ?? 0
          const { location } = incoming.headers
          if (status < 300 || status >= 400 || location === undefined)
            return { status, body: await readWhole(incoming, maxBytes), redirects }
          incoming.destroy()
          if (redirects === maxRedirects)
            throw new OutboundError('redirect', `${url.host} redirects more than ${maxRedirects} times`)
          url = parseUrl(location, url)
        }
      } catch (error) {
        throw toOutboundError(error, deadline)
      }
    },
  }
}

/** Each exchange has its own connection, so no bytes of a response can be read as part of the next one. */
function selectWay(url: URL, route: Route, deadline: AbortSignal): RequestOptions {
  const { proxy, addresses } = route
  if (proxy === undefined) return { agent: false, lookup: createLookup(addresses ?? []) }
  // With the absolute form (RFC 9112 §3.2.2) the proxy resolves the name, so this requires that it may do so.
  if (url.protocol === 'http:' && addresses === undefined) {
    const authorization = proxy.authorization()
    return {
      createConnection: () => connectToProxy(proxy),
      path: `${url.origin}${url.pathname}${url.search}`,
      ...(authorization !== undefined && { headers: { 'proxy-authorization': authorization } }),
    }
  }
  return {
    createConnection: (options, done) => {
      openConnection(route, deadline).then(
        (socket) =>
          done(null, url.protocol === 'http:' ? socket : connect({ ...(options as object), socket })),
        (error: Error) => done(error, undefined as unknown as Duplex),
      )
      return undefined
    },
  }
}

function parseUrl(address: string, base?: URL): URL {
  if (!URL.canParse(address, base)) throw new OutboundError('url', 'not a URL')
  return new URL(address, base)
}

/** @returns the port */
function requirePlain(url: URL, ports: readonly number[] | 'any'): number {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundError('url', 'only http and https are allowed')
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('url', 'a URL with credentials is not allowed')
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port)
  if (ports !== 'any' && !ports.includes(port))
    throw new OutboundError('url', `port ${port} is not one of ${ports.join(', ')}`)
  return port
}
