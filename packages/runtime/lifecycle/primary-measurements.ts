import { startOtlpExport } from '@warder/server'
import { mergeMetrics } from '../telemetry/metrics.ts'
import type { TlsMaterial } from './messages.ts'
import { type MetricsListener, startMetricsListener } from './metrics-listener.ts'
import type { Start } from './primary-start.ts'
import type { ServiceEnvironment } from './service.ts'
import type { WorkerPool } from './worker-pool.ts'

const otlpEverySeconds = 60

/**
 * Exports the metrics of primary and workers as the settings require.
 * @returns the listener of `GET /metrics`, where there is one
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
