import type { AuditLog } from '../audit/index.ts'
import { tokenBucketMemory } from '../http/rate-limit/index.ts'
import { Growth } from './growth.ts'
import { rateLimitSlots, sharedRateSlots, toPlain } from './launch.ts'
import type { SocketStart, TlsMaterials } from './messages.ts'
import { canSharePort } from './ports.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import { type Start, urlAt } from './primary-start.ts'
import type { Storage } from './primary-storage.ts'
import type { SocketPlace } from './service.ts'
import { startTeam, type Team } from './team.ts'
import { canRequireCertificates } from './tls-material.ts'
import { Pulse } from './watchdog.ts'
import { startWorker } from './worker.ts'

/** Addresses on which a service listens. */
export interface Places {
  readonly url: string
  readonly port: number
  /** The listener beside HTTPS. */
  readonly socket: SocketPlace | undefined
}

/** @throws StartupError for a port that is taken */
export async function claimPlaces(start: Start, { standIn }: Storage): Promise<Places> {
  const { launch, definition, ports, log } = start
  const { config } = launch
  const port = standIn?.port ?? (await ports.claim(config.host, config.port, definition.name))
  const wanted = canRequireCertificates(config) ? definition.socket?.(config) : undefined
  const socket = wanted && { ...wanted, port: await ports.claim(wanted.host, wanted.port, wanted.name) }
  const url = urlAt(start, port)
  if (config.plaintext_http) log.warn({ url }, 'plaintext_http is on: nothing on this port is encrypted')
  return { url, port, socket }
}

/**
 * Starts the workers; all of the first serve when it resolves, and nobody else stands on their ports.
 * @param giveUp is called when the service cannot go on without its workers
 */
export async function startWorkers(
  start: Start,
  parts: {
    readonly certificates: PrimaryCertificates
    readonly storage: Storage
    readonly audit: AuditLog | undefined
    readonly places: Places
    giveUp(reason: string): void
  },
): Promise<Team> {
  const { launch, log, metrics, node, size, ports, opened } = start
  const { certificates, storage, audit, places, giveUp } = parts
  const { config } = launch
  const sharePort = canSharePort(process.platform)
  const buckets = config.rate_limit_per_second === undefined ? undefined : tokenBucketMemory(rateLimitSlots)
  const rateMemory = tokenBucketMemory(sharedRateSlots)
  const { env: _, onWaiting: __, beforeMigrating: ___, ...plainLaunch } = launch
  // If a port cannot be shared, nothing answers for a moment.
  if (!sharePort) storage.standIn?.listener.close()
  const team = await startTeam({
    size: size.first,
    log,
    onGivingUp: giveUp,
    onRestart: () => metrics.count('worker_restarts_total'),
    start(index) {
      const tls = certificates.current()
      return startWorker(
        {
          index,
          launch: plainLaunch,
          node,
          port: places.port,
          sharePort,
          baseUrl: places.url,
          rootKeys: storage.rootKeys.map(toPlain),
          tls: tls.https,
          clientAuthorities: tls.clientAuthorities,
          revoked: tls.revoked,
          socket: socketStart(places.socket, tls),
          database: storage.place,
          writer: storage.writer?.port(),
          audit: audit?.connect(),
          buckets,
          rateMemory,
          pulse: Pulse.memory(),
        },
        log,
      )
    },
  })
  opened.defer(() => team.drain(config.drain_timeout_ms))
  opened.defer(new Growth(team, size.most, log).watch())
  ports.release()
  storage.standIn?.listener.close()
  return team
}

function socketStart(place: SocketPlace | undefined, { socket: tls }: TlsMaterials): SocketStart | undefined {
  return place === undefined || tls === undefined ? undefined : { ...place, tls }
}
