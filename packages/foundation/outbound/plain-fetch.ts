import type { IncomingMessage } from 'node:http'
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import { readBody } from './body.ts'
import { failureOf, OutboundError } from './error.ts'
import { bareHost, guardedAddresses, lookupOf, type Resolve, systemResolve } from './guard.ts'

export interface PlainFetchOptions {
  readonly allowPrivateNetworks: boolean
  /** Ports that are asked, also by redirects; default 80 and 443. */
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
}

/**
 * Fetches what proves itself, by its content or by a signature: over HTTP without TLS, and over HTTPS whose certificate
 * nobody looks at. What is fetched with it is never secret, and is never believed because of where it came from.
 */
export function createPlainFetch(options: PlainFetchOptions): PlainFetch {
  const { allowPrivateNetworks, maxRedirects, maxBytes, timeoutMs, isPublic } = options
  const resolve = options.resolve ?? systemResolve
  const ports = options.ports ?? [80, 443]

  const once = async (url: URL, deadline: AbortSignal): Promise<IncomingMessage> => {
    requirePlain(url, ports)
    const host = bareHost(url)
    const addresses = await guardedAddresses(host, resolve, allowPrivateNetworks, deadline, isPublic)
    return new Promise((settle, reject) => {
      const request = url.protocol === 'https:' ? secureRequest : plainRequest
      const outgoing = request(url, {
        // A connection of its own: nothing of one answer is seen by the next.
        agent: false,
        signal: deadline,
        lookup: lookupOf(addresses),
        headers: { accept: '*/*', 'user-agent': 'Warder', connection: 'close' },
        ...(url.protocol === 'https:' && {
          rejectUnauthorized: false,
          servername: isIP(host) === 0 ? host : '',
        }),
      })
      outgoing.once('response', settle)
      outgoing.once('error', (error) => reject(failureOf(error, deadline)))
      outgoing.end()
    })
  }

  return {
    async get(address) {
      const deadline = AbortSignal.timeout(timeoutMs)
      let url = parsed(address)
      for (let redirects = 0; ; redirects += 1) {
        const incoming = await once(url, deadline)
        const status = incoming.statusCode ?? 0
        const { location } = incoming.headers
        if (status < 300 || status >= 400 || location === undefined)
          return { status, body: await readBody(incoming, maxBytes, deadline), redirects }
        incoming.destroy()
        if (redirects === maxRedirects)
          throw new OutboundError('redirect', `${url.host} redirects more than ${maxRedirects} times`)
        url = parsed(location, url)
      }
    },
  }
}

function parsed(address: string, base?: URL): URL {
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
