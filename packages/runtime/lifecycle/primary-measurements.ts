import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import { listenOn } from '@warder/base'
import { startOtlpExport } from '@warder/server'
import { mergeMetrics } from '../metrics.ts'
import type { TlsMaterial } from './messages.ts'
import type { Start } from './primary-start.ts'
import type { ServiceEnvironment } from './service.ts'
import type { WorkerPool } from './worker.ts'

const otlpEverySeconds = 60

/**
 * Exports the metrics of primary and workers as the settings require.
 * @returns the listener of `GET /metrics`, if there is one
 */
export async function startMeasurements(
  { launch, definition, metrics, node, clock, log, opened }: Start,
  { outbound }: ServiceEnvironment<unknown>,
  pool: WorkerPool,
  tls: TlsMaterial | undefined,
): Promise<MetricsListener | undefined> {
  const { config } = launch
  const snapshots = async (): Promise<readonly unknown[]> => [
    await metrics.snapshot(),
    ...(await pool.metrics()),
  ]
  if (config.otlp_endpoint !== undefined) {
    const otlp = startOtlpExport({
      endpoint: config.otlp_endpoint,
      outbound,
      service: definition.name,
      version: launch.version,
      node,
      everySeconds: otlpEverySeconds,
      collect: snapshots,
      now: clock.now,
      log,
    })
    opened.defer(() => otlp.stop())
  } else if (config.otlp_trace_percent > 0) {
    log.warn({}, 'otlp_trace_percent has no effect without otlp_endpoint: no traces are sent')
  }
  if (config.metrics_port === undefined) return undefined
  const listener = await startMetricsListener({
    host: config.host,
    port: config.metrics_port,
    tls,
    exposition: async () => mergeMetrics(await snapshots()),
  })
  opened.defer(() => listener.close())
  return listener
}

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
