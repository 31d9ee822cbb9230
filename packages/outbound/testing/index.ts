import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** A request as the proxy received it. */
export interface ProxyRequest {
  readonly method: string
  /** `host:port` of CONNECT, otherwise the absolute form. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
}

/** Reply that the proxy sends instead of opening a connection; undefined = it opens the connection. */
export type ProxyFault = (
  request: ProxyRequest,
) => 'hang' | 'close' | { readonly status: number; readonly text: string } | undefined

export interface TestProxy {
  /** `http://127.0.0.1:PORT`, or `https://localhost:PORT`. */
  readonly url: string
  readonly seen: ProxyRequest[]
  fault: ProxyFault
  close(): Promise<void>
}

export interface TestProxyOptions {
  /** PEM, for TLS to the proxy. */
  readonly pair?: { readonly cert: string; readonly key: string } | undefined
  /** `USER:PASSWORD` that it requires. */
  readonly credentials?: string | undefined
}

/**
 * A proxy (RFC 9110 §9.3.6, RFC 9112 §3.2.2) for which every host is this machine, so that tests need no names and no network.
 */
export async function startProxy({ pair, credentials }: TestProxyOptions = {}): Promise<TestProxy> {
  const server = pair === undefined ? createServer() : createSecureServer(pair)
  const sockets = new Set<Duplex>()
  const proxy = { seen: [] as ProxyRequest[], fault: (() => undefined) as ProxyFault }
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`

  /**
   * Status line and headers of a reply that the proxy sends instead of opening a connection; undefined = it opens the
   * connection.
   */
  const judge = (incoming: IncomingMessage): string | 'hang' | 'close' | undefined => {
    const { method = '', url = '', headers } = incoming
    const seen = { method, target: url, headers }
    proxy.seen.push(seen)
    if (expected !== undefined && headers['proxy-authorization'] !== expected)
      return 'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Negotiate, Basic realm="x"\r\nContent-Length: 0\r\n\r\n'
    const fault = proxy.fault(seen)
    if (typeof fault !== 'object') return fault
    return `HTTP/1.1 ${fault.status} X\r\nContent-Length: ${fault.text.length}\r\nConnection: close\r\n\r\n${fault.text}`
  }
  const deny = (socket: Duplex, verdict: string): void => {
    if (verdict === 'close') socket.destroy()
    else if (verdict !== 'hang') socket.end(verdict)
  }

  server.on('connection', (socket: Duplex) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  })
  server.on('connect', (incoming: IncomingMessage, client: Duplex) => {
    client.on('error', () => undefined)
    const verdict = judge(incoming)
    if (verdict !== undefined) return deny(client, verdict)
    const target = connect(Number(/:(\d+)$/.exec(incoming.url ?? '')?.[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(target).pipe(client)
    })
    target.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.on('close', () => target.destroy())
  })
  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    const verdict = judge(incoming)
    if (verdict !== undefined) return deny(incoming.socket, verdict)
    const url = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    const options = { host: '127.0.0.1', port: url.port, path: url.pathname + url.search, agent: false }
    const forwarded = request({ ...options, method: incoming.method ?? 'GET', headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    forwarded.on('error', () => response.writeHead(502).end())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(proxy, {
    url: pair === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  })
}
