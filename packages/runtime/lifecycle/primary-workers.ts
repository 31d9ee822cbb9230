import type { AuditLog } from '@warder/audit'
import { canSharePort, Pulse } from '@warder/base'
import { tokenBucketMemory } from '@warder/server'
import { Autoscaler } from './autoscaler.ts'
import { rateLimitSlots, sharedRateSlots, toPlain } from './launch.ts'
import type { SocketStart, TlsMaterials } from './messages.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import { formatUrl, type Start } from './primary-start.ts'
import type { Storage } from './primary-storage.ts'
import type { Shared, SocketEndpoint } from './service.ts'
import { canRequireCertificates } from './tls-materials.ts'
import { startWorker, startWorkerPool, type WorkerPool } from './worker.ts'

/** Addresses on which a service listens. */
export interface ServiceEndpoints {
  readonly url: string
  readonly port: number
  /** The listener beside HTTPS. */
  readonly socket: SocketEndpoint | undefined
}

/** @throws StartupError for a port that is taken */
export async function claimEndpoints(start: Start, { standIn }: Storage): Promise<ServiceEndpoints> {
  const { launch, definition, ports, log } = start
  const { config } = launch
  const port = standIn?.port ?? (await ports.claim(config.host, config.port, definition.name))
  const requested = canRequireCertificates(config) ? definition.socket?.(config) : undefined
  const socket = requested && {
    ...requested,
    port: await ports.claim(requested.host, requested.port, requested.name),
  }
  const url = formatUrl(start, port)
  if (config.plaintext_http) log.warn({ url }, 'plaintext_http is set: traffic on this port is not encrypted')
  return { url, port, socket }
}

/**
 * Starts the workers; when it resolves, all initial workers serve, and the reserved ports are released.
 * @param giveUp is called when the service cannot go on without its workers
 */
export async function startWorkers(
  start: Start,
  parts: {
    readonly certificates: PrimaryCertificates
    readonly storage: Storage
    readonly audit: AuditLog | undefined
    readonly endpoints: ServiceEndpoints
    readonly shared: Shared | undefined
    giveUp(reason: string): void
  },
): Promise<WorkerPool> {
  const { launch, log, metrics, node, size, ports, opened } = start
  const { certificates, storage, audit, endpoints, shared, giveUp } = parts
  const { config } = launch
  const sharePort = canSharePort(process.platform)
  const buckets = config.rate_limit_per_second === undefined ? undefined : tokenBucketMemory(rateLimitSlots)
  const rateMemory = tokenBucketMemory(sharedRateSlots)
  const { env: _, onWaiting: __, onSealed: ___, beforeMigrating: ____, ...plain } = launch
  const { rootKeyProvider: _____, collectShares: ______, ...plainLaunch } = plain
  // If a port cannot be shared, no listener is open for a moment.
  if (!sharePort) storage.standIn?.close()
  const pool = await startWorkerPool({
    size: size.first,
    log,
    onGiveUp: giveUp,
    onRestart: () => metrics.count('worker_restarts_total'),
    start(index) {
      const tls = certificates.current()
      return startWorker(
        {
          index,
          launch: plainLaunch,
          node,
          port: endpoints.port,
          sharePort,
          baseUrl: endpoints.url,
          rootKeys: storage.rootKeys.map(toPlain),
          rootKeyState: storage.rootKeyState,
          tls: tls.https,
          clientAuthorities: tls.clientAuthorities,
          revoked: tls.revoked,
          socket: socketStart(endpoints.socket, tls),
          database: storage.location,
          writer: storage.writer?.port(),
          audit: audit?.connect(),
          shared: shared?.connect(),
          buckets,
          rateMemory,
          pulse: Pulse.memory(),
        },
        log,
      )
    },
  })
  opened.defer(() => pool.drain(config.drain_timeout_ms))
  opened.defer(new Autoscaler(pool, size.max, log).watch())
  ports.release()
  storage.standIn?.close()
  return pool
}

function socketStart(
  endpoint: SocketEndpoint | undefined,
  { socket: tls }: TlsMaterials,
): SocketStart | undefined {
  return endpoint === undefined || tls === undefined ? undefined : { ...endpoint, tls }
}
