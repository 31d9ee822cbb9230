import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { TlsMaterial } from './messages.ts'
import { claimPort } from './ports.ts'

/** GET /metrics on a listener of its own, so that the public port never shows it. */
export async function startMetricsListener(options: {
  readonly host: string
  readonly port: number
  readonly tls: TlsMaterial | undefined
  exposition(): Promise<string>
}): Promise<{ readonly port: number; close(): void }> {
  const answer: RequestListener = (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    options.exposition().then(
      (text) =>
        response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
      () => response.writeHead(500).end(),
    )
  }
  const port = await claimPort(options.host, options.port, 'metrics_port')
  const server = options.tls === undefined ? createHttpServer(answer) : createHttpsServer(options.tls, answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port }, resolve)
  })
  return {
    port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
