import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import {
  createLookup,
  OutboundError,
  type Resolve,
  resolveAllowedAddresses,
  stripBrackets,
  systemResolve,
  toOutboundError,
} from './guard.ts'
import { readWhole, send } from './http-client.ts'

export interface PlainFetchOptions {
  readonly allowPrivateNetworks: boolean
  /** The setting that permits them; default `outbound_allow_private_networks`. */
  readonly privateNetworksSetting?: string
  /** Permitted ports, also of redirects; default 80 and 443. */
  readonly ports?: readonly number[] | 'any'
  /** Redirects that are followed, each to an address that is checked again. */
  readonly maxRedirects: number
  /** Largest response body. */
  readonly maxBytes: number
  /** For the whole exchange, redirects included. */
  readonly timeoutMs: number
  readonly resolve?: Resolve
  /** Which addresses are those of the public internet; a test passes its own. */
  readonly isPublic?: (address: string) => boolean
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
  const { allowPrivateNetworks, privateNetworksSetting, maxRedirects, maxBytes, timeoutMs, isPublic } =
    options
  const resolve = options.resolve ?? systemResolve
  const ports = options.ports ?? [80, 443]

  const once = async (
    url: URL,
    deadline: AbortSignal,
    posted?: { readonly type: string; readonly body: Uint8Array },
  ): Promise<IncomingMessage> => {
    requirePlain(url, ports)
    const host = stripBrackets(url)
    const addresses = await resolveAllowedAddresses(
      host,
      resolve,
      allowPrivateNetworks,
      deadline,
      isPublic,
      privateNetworksSetting,
    )
    const exchange = {
      method: posted === undefined ? 'GET' : 'POST',
      // A connection of its own: nothing of one answer is seen by the next.
      agent: false,
      signal: deadline,
      lookup: createLookup(addresses),
      headers: {
        ...{ accept: '*/*', 'user-agent': 'Warder', connection: 'close' },
        ...(posted && { 'content-type': posted.type }),
      },
      ...(url.protocol === 'https:' && {
        rejectUnauthorized: false,
        servername: isIP(host) === 0 ? host : '',
      }),
    }
    return send(url, exchange, posted?.body)
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

function parseUrl(address: string, base?: URL): URL {
  if (!URL.canParse(address, base)) throw new OutboundError('url', 'not a URL')
  return new URL(address, base)
}

function requirePlain(url: URL, ports: readonly number[] | 'any'): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundError('url', 'only http and https are allowed')
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('url', 'a URL with credentials is not allowed')
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port)
  if (ports !== 'any' && !ports.includes(port))
    throw new OutboundError('url', `port ${port} is not one of ${ports.join(', ')}`)
}
