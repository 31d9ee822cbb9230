import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import {
  type Clock,
  canSharePort,
  claimPort,
  formatBaseUrl,
  type Logger,
  runtimeCounters,
  startCounters,
  systemClock,
} from '@warder/base'
import type { LocalAuthorityOptions } from '@warder/server'
import { createLogger } from '../logger.ts'
import { createMetrics, type ThreadMetrics } from '../metrics.ts'
import { choosePoolSize, type PoolSize } from './autoscaler.ts'
import type { ServiceLaunch } from './launch.ts'
import { loadDefinition, type ServiceDefinition } from './service.ts'

/** State shared by the steps of a start. */
export interface Start {
  readonly launch: ServiceLaunch
  readonly definition: ServiceDefinition<unknown, unknown>
  readonly log: Logger
  readonly metrics: ThreadMetrics
  readonly clock: Clock
  readonly node: string
  /** Of the workers. */
  readonly size: PoolSize
  readonly ports: StartPorts
  /** Open resources: closed in reverse order when a later step fails, and when the service stops. */
  readonly opened: AsyncDisposableStack
}

/** Ports that are reserved while the service starts. */
export interface StartPorts {
  /** The parent process may have claimed the port already. @throws StartupError as `claimPort` */
  claim(host: string, port: number, who: string): Promise<number>
  /** To be called once this service listens on them. Further calls do nothing. */
  release(): void
}

/** @param opened receives the resources of all steps; its owner disposes them */
export async function beginStart(launch: ServiceLaunch, opened: AsyncDisposableStack): Promise<Start> {
  const { config } = launch
  const definition = await loadDefinition(launch)
  const ports = startPorts(launch.heldPorts)
  opened.defer(ports.release)
  const metrics = createMetrics()
  startCounters(metrics, { ...runtimeCounters, ...definition.counters })
  return {
    launch,
    definition,
    log: createLogger({
      level: config.log_level,
      service: definition.name,
      onLost: () => metrics.count('log_lines_lost_total'),
    }),
    metrics,
    clock: systemClock,
    node: config.node_name ?? hostname(),
    size: canSharePort(process.platform)
      ? choosePoolSize(config.workers, availableParallelism())
      : { first: 1, max: 1 },
    ports,
    opened,
  }
}

function startPorts(held: readonly number[] = []): StartPorts {
  const claims: { release(): void }[] = []
  return {
    async claim(host, port, who) {
      if (held.includes(port)) return port
      const claimed = await claimPort(host, port, who)
      claims.push(claimed)
      return claimed.port
    },
    release() {
      for (const claimed of claims) claimed.release()
    },
  }
}

/** The local authority of the home folder, with all that it issues. */
export function getLocalAuthorityOptions({
  launch,
  definition: { name },
  clock,
}: Pick<Start, 'launch' | 'definition' | 'clock'>): LocalAuthorityOptions {
  const certificates = launch.localCertificates ?? [{ name, commonName: `Warder ${name}` }]
  return { folder: join(launch.home, 'tls'), clock, certificates }
}

/** URL of the service on this port. */
export function formatUrl({ launch: { config } }: Pick<Start, 'launch'>, port: number): string {
  return formatBaseUrl(config.plaintext_http ? 'http' : 'https', config.host, port)
}
