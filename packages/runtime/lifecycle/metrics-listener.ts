import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import { listenOn } from '@warder/base'
import type { TlsMaterial } from './messages.ts'

export interface MetricsListener {
  readonly port: number
  /** For new connections. */
  setTls(tls: TlsMaterial | undefined): void
  close(): void
}

/** GET /metrics, with any query, on a listener of its own, so that the public port never shows it. */
export async function startMetricsListener(options: {
  readonly host: string
  readonly port: number
  readonly tls: TlsMaterial | undefined
  exposition(): Promise<string>
}): Promise<MetricsListener> {
  let underWay: Promise<string> | undefined
  /** Shared by concurrent requests, since each collection involves every worker. */
  const exposition = (): Promise<string> => {
    underWay ??= options.exposition().finally(() => {
      underWay = undefined
    })
    return underWay
  }
  const answer: RequestListener = (request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    exposition().then(
      (text) =>
        response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
      () => response.writeHead(500).end(),
    )
  }
  const server = options.tls === undefined ? createHttpServer(answer) : createHttpsServer(options.tls, answer)
  const { port } = await listenOn(server, { host: options.host, port: options.port }, 'metrics_port:')
  return {
    port,
    setTls(tls) {
      if (server instanceof HttpsServer && tls !== undefined) server.setSecureContext(tls)
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
