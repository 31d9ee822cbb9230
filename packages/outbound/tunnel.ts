import { type IncomingMessage, request as plainRequest } from 'node:http'
import { isIP, connect as plainConnect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { createLookup, OutboundError, type Route } from './guard.ts'
import type { ProxyServer } from './proxy.ts'

/** A proxy may be able to reach only some addresses of a host, for example those of IPv4. */
const maxAddresses = 4

/**
 * Opens a connection for bytes that are not HTTP, or for TLS on top of it: directly, or through a tunnel of the proxy.
 * @param deadline ends the attempt, not the connection
 * @throws OutboundError
 */
export async function openConnection(route: Route, deadline: AbortSignal): Promise<Duplex> {
  const { proxy, addresses, host, port } = route
  if (proxy === undefined) return connectDirectly(route, deadline)
  const hosts = addresses?.map(({ address }) => address).slice(0, maxAddresses) ?? [host]
  for (const [index, target] of hosts.entries()) {
    try {
      return await openTunnel(proxy, formatAuthority(target, port), deadline)
    } catch (error) {
      if (index === hosts.length - 1 || !(error instanceof TunnelRefused)) throw error
    }
  }
  throw new OutboundError('name', `${host} has no address`)
}

/** The proxy replied, but opens no connection to this address. */
class TunnelRefused extends OutboundError {}

/** @throws OutboundError for a host with characters that could end the line of a request */
function formatAuthority(host: string, port: number): string {
  if (isIP(host) === 6) return `[${host}]:${port}`
  if (!/^[A-Za-z0-9_.-]{1,253}$/.test(host))
    throw new OutboundError('name', `${JSON.stringify(host)} is not a host name`)
  return `${host}:${port}`
}

function connectDirectly({ host, port, addresses = [] }: Route, deadline: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = plainConnect({ host, port, lookup: createLookup(addresses) })
    const late = (): void => void socket.destroy(new OutboundError('time', 'the deadline has passed'))
    deadline.addEventListener('abort', late, { once: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      deadline.removeEventListener('abort', late)
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/** A connection to the proxy itself, which may be in a private network: its address is a setting. */
export function connectToProxy({ isSecure, host, port, trust }: ProxyServer): Duplex {
  if (!isSecure) return plainConnect({ host, port })
  return connect({
    host,
    port,
    ...(isIP(host) === 0 && { servername: host }),
    ...trust(),
    minVersion: 'TLSv1.2',
    // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED would disable it.
    rejectUnauthorized: true,
  })
}

/** CONNECT (RFC 9110 §9.3.6). */
function openTunnel(proxy: ProxyServer, authority: string, deadline: AbortSignal): Promise<Duplex> {
  const { name } = proxy
  const authorization = proxy.authorization()
  return new Promise((resolve, reject) => {
    if (deadline.aborted) return reject(new OutboundError('time', 'the deadline has passed'))
    const request = plainRequest({
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        connection: 'keep-alive',
        ...(authorization !== undefined && { 'proxy-authorization': authorization }),
      },
      createConnection: () => connectToProxy(proxy),
    })
    const late = (): void =>
      void request.destroy(
        new OutboundError('time', `the proxy ${name} opened no connection to ${authority} in time`),
      )
    deadline.addEventListener('abort', late, { once: true })
    request.once('connect', (response, socket: Duplex, early: Buffer) => {
      deadline.removeEventListener('abort', late)
      const refusal = findRefusal(proxy, authority, response)
      // Prevents an unhandled error until the caller adds its own listener; an error closes the connection in any case.
      socket.on('error', () => undefined)
      if (refusal === undefined) {
        // Some servers, such as mail servers, send data first.
        if (early.length > 0) socket.unshift(early)
        return resolve(socket)
      }
      socket.destroy()
      reject(refusal)
    })
    request.once('error', (error) => {
      deadline.removeEventListener('abort', late)
      const reason = `the proxy ${name} cannot be used: ${error.message}`
      reject(
        error instanceof OutboundError ? error : new OutboundError('connection', reason, { cause: error }),
      )
    })
    request.end()
  })
}

function findRefusal(
  proxy: ProxyServer,
  authority: string,
  response: IncomingMessage,
): OutboundError | undefined {
  const { name } = proxy
  const status = response.statusCode ?? 0
  // Some proxies answer 401 to wrong credentials; a target cannot answer CONNECT.
  if (status === 407 || status === 401) return requireCredentials(proxy, response)
  if (status < 200 || status > 299) {
    const byName = isIP(authority.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')) !== 0
    const hint = byName ? '; outbound_proxy_resolves = true sends names in place of addresses' : ''
    return new TunnelRefused(
      'connection',
      `the proxy ${name} refused a connection to ${authority} with ${status}: it must permit CONNECT to this host and port, or outbound_no_proxy must contain the host${hint}`,
    )
  }
  return undefined
}

/** The error for 407 (RFC 9110 §15.5.8). */
export function requireCredentials(
  proxy: ProxyServer,
  { statusCode, headers }: IncomingMessage,
): OutboundError {
  const offered = String(headers['proxy-authenticate'] ?? '').match(
    /(?:^|,\s*)[A-Za-z][A-Za-z0-9-]{0,20}(?=[\s,]|$)/g,
  )
  const schemes = offered?.map((scheme) => scheme.replace(/^,\s*/, '')).join(', ') ?? 'no scheme'
  const what =
    proxy.authorization() === undefined ? 'requires credentials' : 'does not accept the credentials'
  return new OutboundError(
    'connection',
    `the proxy ${proxy.name} ${what} (${statusCode}, ${schemes}): set USER:PASSWORD for Basic in outbound_proxy_credentials_file`,
  )
}
