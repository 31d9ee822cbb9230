import { canSharePort } from '@warder/base'
import { createClientRevocation } from '@warder/server'
import { mergeMetrics } from '../metrics.ts'
import type { DatabaseLocation } from './database.ts'
import type { SealedEndpoints } from './launch.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import { startMetricsListener } from './primary-measurements.ts'
import type { Start } from './primary-start.ts'
import type { StandInAnswer } from './stand-in.ts'
import { canRequireCertificates } from './tls-materials.ts'
import { Unsealing } from './unsealing.ts'

/**
 * Accepts shares on the port of a sealed service. Meanwhile the listeners of metrics and of other protocols are open,
 * too. All of them close when the root key is open.
 * @param reply takes the port of the service, and returns its address
 */
export function prepareUnsealing(
  start: Start,
  certificates: PrimaryCertificates,
  { kind: database }: DatabaseLocation,
  reply: (answer: StandInAnswer) => Promise<string>,
): Unsealing {
  const { launch, clock, log, metrics, opened } = start
  const { config } = launch
  const listeners = new AsyncDisposableStack()
  opened.defer(() => listeners.disposeAsync())
  const unsealing = new Unsealing({
    ...{ database, clock, log, metrics },
    limitMs: config['root_key_shares.time_limit_seconds'] * 1000,
    async onSealed() {
      const url = await reply(unsealing.answer)
      if (config.metrics_port !== undefined) {
        const listener = await startMetricsListener({
          ...{ host: config.host, port: config.metrics_port, tls: certificates.current().https },
          exposition: async () => mergeMetrics([await metrics.snapshot()]),
        })
        listeners.defer(() => listener.close())
      }
      launch.onSealed?.({ url, socket: await listenBeside(start, certificates, listeners) })
    },
    onOpened: () => listeners.disposeAsync(),
  })
  return unsealing
}

async function listenBeside(
  { launch, definition, ports, clock, log, metrics }: Start,
  certificates: PrimaryCertificates,
  listeners: AsyncDisposableStack,
): Promise<SealedEndpoints['socket']> {
  const { config } = launch
  const { socket: tls, revoked } = certificates.current()
  const endpoint = canRequireCertificates(config) ? definition.socket?.(config) : undefined
  if (endpoint === undefined || tls === undefined || definition.sealedSocket === undefined) return undefined
  const { name, host } = endpoint
  const clientRevocation = createClientRevocation(clock, revoked)
  const socket = await definition.sealedSocket({ tls, clientRevocation, clock, log, metrics })
  const port = await ports.claim(host, endpoint.port, name)
  await socket.listen({ host, port, reusePort: canSharePort(process.platform) })
  ports.release()
  listeners.defer(() => socket.drain(0))
  return { host, port }
}
