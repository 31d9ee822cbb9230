import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { StartupError } from '../errors/index.ts'
import { isPublicAddress } from './address.ts'
import type { Outbound, OutboundResponse } from './types.ts'

export type OutboundReason = 'url' | 'name' | 'address' | 'redirect' | 'time' | 'size' | 'connection'

/** An outbound request that was refused or failed. For the log; a caller of Warder is never told the URL. */
export class OutboundError extends Error {
  readonly reason: OutboundReason

  constructor(reason: OutboundReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutboundError'
    this.reason = reason
  }
}

export interface OutboundOptions {
  readonly allowPrivateNetworks: boolean
  /** PEM of authorities trusted besides the usual ones. */
  readonly caFile?: string | undefined
  /** For the whole exchange; default 5000. */
  readonly timeoutMs?: number
  /** Largest response body; default 1 MiB. */
  readonly maxBytes?: number
  /** Name resolution; a test passes its own. */
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>
}

/**
 * The one HTTP client. https only; a redirect is a failure; names are resolved here, every address is checked, and
 * the connection goes to the address that was checked, so that a name cannot answer differently the second time.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const timeoutMs = options.timeoutMs ?? 5000
  const maxBytes = options.maxBytes ?? 1_048_576
  const resolve = options.resolve ?? ((hostname: string) => lookup(hostname, { all: true, verbatim: true }))
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 8,
    maxTotalSockets: 64,
    timeout: 30_000,
    ...trust(options.caFile),
  })

  const exchange = async (
    method: 'GET' | 'POST' | 'DELETE',
    address: string,
    body: Uint8Array | undefined,
    headers: Readonly<Record<string, string>> | undefined,
  ): Promise<OutboundResponse> => {
    const url = checkedUrl(address)
    const host = bareHost(url)
    const deadline = AbortSignal.timeout(timeoutMs)
    const pinned = await addressesOf(url, resolve, options.allowPrivateNetworks, deadline)
    const asked: RequestOptions = {
      method,
      agent,
      signal: deadline,
      servername: isIP(host) === 0 ? host : '',
      headers: { ...headers, ...(body === undefined ? {} : { 'content-length': body.length }) },
      // The name was resolved and checked above; this only hands over the result.
      lookup: (_hostname, wanted, callback) => {
        const [first] = pinned
        if (wanted.all) callback(null, [...pinned])
        else callback(null, first?.address ?? '', first?.family ?? 4)
      },
    }
    const incoming = await answered(url, asked, body).catch((error: unknown) => {
      throw failureOf(error, deadline)
    })
    const status = incoming.statusCode ?? 0
    if (status >= 300 && status < 400) {
      incoming.destroy()
      throw new OutboundError('redirect', `${url.origin} redirects`)
    }
    return { status, headers: plainHeaders(incoming), body: await readBody(incoming, maxBytes, deadline) }
  }

  return {
    get: (url, more) => exchange('GET', url, undefined, more?.headers),
    post: (url, body, more) => exchange('POST', url, body, more?.headers),
    delete: (url, body, more) => exchange('DELETE', url, body, more?.headers),
  }
}

/** The head of the answer. @throws whatever the connection fails with before */
function answered(url: URL, options: RequestOptions, body: Uint8Array | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options)
    let begun = false
    outgoing.once('response', (incoming) => {
      begun = true
      resolve(incoming)
    })
    outgoing.once('error', (error) => {
      // RFC 9110 §9.2.2: the peer may have ended a kept connection while the request was on its way.
      const again = options.method === 'GET' && outgoing.reusedSocket && options.signal?.aborted !== true
      if (again && !begun) answered(url, options, body).then(resolve, reject)
      else reject(error)
    })
    outgoing.end(body)
  })
}

function trust(caFile: string | undefined): { ca?: string[] } {
  if (caFile === undefined) return {}
  try {
    return { ca: [...rootCertificates, readFileSync(caFile, 'utf8')] }
  } catch (error) {
    throw new StartupError(`cannot read ${caFile}: ${error instanceof Error ? error.message : error}`)
  }
}

function checkedUrl(address: string): URL {
  if (!URL.canParse(address)) throw new OutboundError('url', 'not a URL')
  const url = new URL(address)
  if (url.protocol !== 'https:') throw new OutboundError('url', 'only https is allowed')
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('url', 'a URL with credentials is not allowed')
  return url
}

/** The host without the brackets of an IPv6 address. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

async function addressesOf(
  url: URL,
  resolve: (hostname: string) => Promise<readonly LookupAddress[]>,
  allowPrivate: boolean,
  deadline: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const host = bareHost(url)
  const family = isIP(host)
  let addresses: readonly LookupAddress[]
  if (family !== 0) addresses = [{ address: host, family }]
  else {
    try {
      addresses = await Promise.race([resolve(host), aborted(deadline)])
    } catch (error) {
      throw deadline.aborted
        ? failureOf(error, deadline)
        : new OutboundError('name', `${host} cannot be resolved`, { cause: error })
    }
  }
  if (addresses.length === 0) throw new OutboundError('name', `${host} has no address`)
  const refused = addresses.find(({ address }) => !isPublicAddress(address))
  if (refused !== undefined && !allowPrivate) {
    throw new OutboundError('address', `${host} leads to ${refused.address}, which is not a public address`)
  }
  return addresses
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

function failureOf(error: unknown, deadline: AbortSignal): OutboundError {
  if (deadline.aborted) return new OutboundError('time', 'it took too long', { cause: error })
  return new OutboundError('connection', error instanceof Error ? error.message : 'the connection failed', {
    cause: error,
  })
}

async function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  deadline: AbortSignal,
): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) {
    incoming.destroy()
    throw new OutboundError('size', `the response is larger than ${maxBytes} bytes`)
  }
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of incoming) {
      size += (chunk as Buffer).length
      if (size > maxBytes) throw new OutboundError('size', `the response is larger than ${maxBytes} bytes`)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    incoming.destroy()
    throw error instanceof OutboundError ? error : failureOf(error, deadline)
  }
  return Buffer.concat(chunks)
}

function plainHeaders(incoming: IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(incoming.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  return headers
}
