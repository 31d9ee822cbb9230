import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import {
  type AuditLog,
  announcedCommitMigrations,
  knownCommits,
  openAuditLog,
  settleAnnounced,
} from '../audit/index.ts'
import { systemClock } from '../clock/clock.ts'
import { StartupError } from '../errors/index.ts'
import { tokenBucketMemory } from '../http/rate-limit/index.ts'
import { Secret } from '../memory/secret.ts'
import { createOutbound } from '../outbound/index.ts'
import type { MaybePromise } from '../promises/and-then.ts'
import { isUnsealed, loadRootKeys, openSeal, type RootKey, sealMigrations } from '../seal/index.ts'
import { commitCountMigrations, holdLease, leaseMigrations, migrate } from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import { createLogger, createMetrics, mergeMetrics, startOtlpExport } from '../telemetry/index.ts'
import { ensureLocalAuthority } from '../tls/index.ts'
import { clientCrls, withCrls } from './client-crls.ts'
import { startCommitRecords } from './commit-records.ts'
import { connect, databasePlace, startWriter } from './database.ts'
import { connectWhenThere } from './database-wait.ts'
import { rateLimitSlots, rootKeySource, type ServiceLaunch, sharedRateSlots, toPlain } from './launch.ts'
import type { SocketStart, TlsMaterial } from './messages.ts'
import { startMetricsListener } from './metrics-listener.ts'
import { noAudit } from './no-audit.ts'
import { boundTo, startPeriodic } from './periodic.ts'
import { baseUrlOf, type ClaimedPort, canSharePort, claimPort } from './ports.ts'
import { acceptRollback, findRollback, missingFile, refuseRollback } from './rollback.ts'
import type { ServiceDefinition, ServiceEnvironment, SocketPlace } from './service.ts'
import { startTeam } from './team.ts'
import { canRequireCertificates, inHome, usesLocalAuthority } from './tls-material.ts'
import { materialsReader } from './tls-materials.ts'
import { startWaitingListener, type WaitingListener } from './waiting-listener.ts'
import { startWorker, WorkerStartFailed } from './worker.ts'

const otlpEverySeconds = 60

/** A service that runs: what its process does with signals. */
export interface RunningService {
  readonly url: string
  readonly metricsPort: number | undefined
  /** The listener beside HTTPS, as bound. */
  readonly socket: SocketPlace | undefined
  /** Lines to show once, e.g. where the first administrator's password is. */
  readonly notices: readonly string[]
  /** Reads the certificates again; the old ones stay when the new ones cannot be used. */
  reloadTls(): void
  /** Stops accepting, finishes what is in flight, flushes the audit log. */
  stop(): Promise<void>
  /** Resolves with a reason when the service cannot go on. */
  readonly failed: Promise<string>
}

/**
 * Starts a service: one main thread (this one: audit log, periodic work), one writer thread for SQLite, N workers.
 * Order matters: the root key is checked before anything is written, the database is up to date before any worker
 * reads it, and the port is claimed last, so that a start that fails has not served.
 * @throws StartupError with one line for the person at the terminal
 */
export async function runService(launch: ServiceLaunch): Promise<RunningService> {
  const { config, home } = launch
  const definition = await loadDefinition(launch)
  const { name } = definition
  const log = createLogger({ level: config.log_level, service: name })
  const clock = systemClock
  const metrics = createMetrics()
  const node = config.node_name ?? hostname()
  const cleanup: (() => MaybePromise<void>)[] = []
  const urlAt = (port: number): string =>
    baseUrlOf(config.plaintext_http ? 'http' : 'https', config.host, port)
  const undo = async (): Promise<void> => {
    for (const step of cleanup.toReversed()) await step()
  }
  try {
    if (usesLocalAuthority(config, home)) {
      const certificates = launch.localCertificates ?? [{ name, commonName: `Warder ${name}` }]
      await ensureLocalAuthority({ folder: join(home, 'tls'), clock, certificates })
    }
    const readMaterials = materialsReader(definition, config, home)
    const crls = clientCrls(config, home, clock, log)
    let files = readMaterials()
    /** Those of the last reload: a worker that takes another's place begins with them. */
    let tls = withCrls(files, crls.read())
    const place = databasePlace(config.database_url, home, name)
    const auditFolder = join(home, 'audit', name)
    const known = knownCommits(auditFolder)
    const missing = missingFile(place, known)
    if (missing !== undefined && !launch.acceptRollback) refuseRollback(name, auditFolder, place, missing)
    const writer = await startWriter(place)
    if (writer !== undefined) cleanup.push(() => writer.close())
    const claims: ClaimedPort[] = []
    const claim = async (host: string, asked: number, who: string): Promise<number> => {
      if (launch.heldPorts?.includes(asked)) return asked
      const claimed = await claimPort(host, asked, who)
      claims.push(claimed)
      return claimed.port
    }
    const release = (): void => {
      for (const claimed of claims) claimed.release()
    }
    cleanup.push(release)
    let port: number | undefined
    let waiting: WaitingListener | undefined
    const db = await connectWhenThere({
      open: () => connect(place, writer?.port()),
      mostMs: config.database_wait_ms,
      log,
      async onAway() {
        port = await claim(config.host, config.port, name)
        waiting = await startWaitingListener({
          name,
          place: { host: config.host, port, reusePort: canSharePort(process.platform) },
          tls: tls.https,
          database: place.kind,
        })
        cleanup.push(() => waiting?.close())
        release()
        log.warn({ url: urlAt(port) }, 'the service answers 503 until its database is there')
        launch.onWaiting?.()
      },
    })
    cleanup.push(() => db.close())
    const rollback = await findRollback(db, known)
    if (rollback !== undefined && !launch.acceptRollback) refuseRollback(name, auditFolder, place, rollback)
    await migrate(db, 'commit count', commitCountMigrations)
    const rootKeys = await openRootKeys(launch, db)
    await migrate(db, 'lease', leaseMigrations)
    const seal = await openSeal({ db, rootKeys, service: name, clock })
    await migrate(db, name, definition.migrations)
    await migrate(db, 'audit', announcedCommitMigrations)
    const audit = config.audit_enabled
      ? await openAuditLog({
          folder: auditFolder,
          service: name,
          node,
          mode: config.audit_failure_mode,
          rotateBytes: config.audit_rotate_bytes,
          clock,
          log,
          metrics,
        })
      : undefined
    if (audit !== undefined) cleanup.push(() => audit.close())
    if (rollback !== undefined) {
      await acceptRollback(db, audit, clock.now(), rollback)
      log.warn({ ...rollback }, 'the operator accepted that the database lost commits')
    }
    if (audit !== undefined) {
      await settleAnnounced({ folder: auditFolder, db, trail: audit.trail, log, now: clock.now })
      const records = await startCommitRecords({ db, audit, clock, log })
      cleanup.push(() => records.stop())
    }
    const environment: ServiceEnvironment<unknown> = {
      config,
      home,
      baseUrl: '',
      db,
      seal,
      audit: audit?.trail ?? noAudit,
      outbound: createOutbound({
        allowPrivateNetworks: config.outbound_allow_private_networks,
        caFile: config.outbound_ca_file === undefined ? undefined : inHome(home, config.outbound_ca_file),
      }),
      log,
      metrics,
      clock,
      node,
      peerSecret: launch.peerSecret === undefined ? undefined : Secret.fromText(launch.peerSecret),
    }
    const { notices } = await definition.prepare(environment)
    const servicePort = port ?? (await claim(config.host, config.port, name))
    const wanted = canRequireCertificates(config) ? definition.socket?.(config) : undefined
    const socket = wanted && { ...wanted, port: await claim(wanted.host, wanted.port, wanted.name) }
    const url = urlAt(servicePort)
    if (config.plaintext_http) log.warn({ url }, 'plaintext_http is on: nothing on this port is encrypted')

    let giveUp: (reason: string) => void = () => undefined
    const failed = new Promise<string>((resolve) => {
      giveUp = resolve
    })
    writer?.onFailure((error) => giveUp(`the SQLite writer failed: ${error.message}`))
    writer?.onProblem((problem) => log.error({ problem }, 'the database cannot be written any more'))
    const size = workerCount(config.workers)
    const buckets = config.rate_limit_per_second === undefined ? undefined : tokenBucketMemory(rateLimitSlots)
    const rateMemory = tokenBucketMemory(sharedRateSlots)
    const { env: _, onWaiting: __, ...plainLaunch } = launch
    // Where a port cannot be shared, nothing answers for a moment.
    if (!canSharePort(process.platform)) waiting?.close()
    const team = await startTeam({
      size,
      log,
      onGivingUp: giveUp,
      start: (index) =>
        startWorker(
          {
            index,
            launch: plainLaunch,
            node,
            port: servicePort,
            sharePort: canSharePort(process.platform),
            baseUrl: url,
            rootKeys: rootKeys.map(toPlain),
            tls: tls.https,
            clientAuthorities: tls.clientAuthorities,
            revoked: tls.revoked,
            socket: socketStart(socket, tls.socket),
            database: place,
            writer: writer?.port(),
            audit: audit?.connect(),
            buckets,
            rateMemory,
          },
          log,
        ),
    })
    cleanup.push(() => team.drain(config.drain_timeout_ms))
    release()
    waiting?.close()
    const snapshots = async (): Promise<readonly unknown[]> => [
      await metrics.snapshot(),
      ...(await team.metrics()),
    ]
    if (config.otlp_endpoint !== undefined) {
      const otlp = startOtlpExport({
        endpoint: config.otlp_endpoint,
        outbound: environment.outbound,
        service: name,
        version: launch.version,
        node,
        everySeconds: otlpEverySeconds,
        collect: snapshots,
        now: clock.now,
        log,
      })
      cleanup.push(() => otlp.stop())
    }
    const listener =
      config.metrics_port === undefined
        ? undefined
        : await startMetricsListener({
            host: config.host,
            port: config.metrics_port,
            tls: tls.https,
            exposition: async () => mergeMetrics(await snapshots()),
          })
    if (listener !== undefined) cleanup.push(() => listener.close())
    const periodic = startPeriodic(
      definition.periodic.map((job) => boundTo(job, { ...environment, baseUrl: url })),
      (job, seconds) => holdLease(db, `${name}:${job}`, `${node}:${process.pid}`, seconds, clock),
      log,
    )
    cleanup.push(() => periodic.stop())
    const reload = (what: string, readFiles: () => typeof files): void => {
      try {
        files = readFiles()
        tls = withCrls(files, crls.read())
        team.setTls(tls)
        listener?.setTls(tls.https)
        log.info({}, `${what} were read again`)
      } catch (error) {
        log.error({ error }, `the ${what} cannot be used; the ones read before stay`)
      }
    }
    // A certificate file that cannot be used now does not keep a revocation from counting.
    cleanup.push(crls.watch(() => reload('CRLs', () => files)))
    const background = await definition.background?.({ ...environment, baseUrl: url })
    if (background !== undefined) cleanup.push(() => background.stop())
    recordStart(audit, clock.now(), 'service.start', launch.version)
    log.info({ url, socket, workers: size, database: place.kind, metrics_port: listener?.port }, 'serving')
    return {
      url,
      metricsPort: listener?.port,
      socket,
      notices,
      reloadTls: () => reload('certificates', readMaterials),
      async stop() {
        recordStart(audit, clock.now(), 'service.stop', launch.version)
        await undo()
      },
      failed,
    }
  } catch (error) {
    await undo()
    if (error instanceof WorkerStartFailed && error.startup) throw new StartupError(error.message)
    throw error
  }
}

function socketStart(place: SocketPlace | undefined, tls: TlsMaterial | undefined): SocketStart | undefined {
  return place === undefined || tls === undefined ? undefined : { ...place, tls }
}

async function loadDefinition(launch: ServiceLaunch): Promise<ServiceDefinition<unknown, unknown>> {
  const module = (await import(launch.module)) as Record<string, ServiceDefinition<unknown, unknown>>
  const definition = module[launch.exportName]
  if (definition === undefined) throw new Error(`${launch.module} exports no ${launch.exportName}`)
  return definition
}

/**
 * The root keys to try. While a rotation of the key file is unfinished both files are tried; `warder root-key rotate`
 * finishes it.
 */
async function openRootKeys({ config, env, home }: ServiceLaunch, db: Database): Promise<readonly RootKey[]> {
  await migrate(db, 'seal', sealMigrations)
  const source = rootKeySource(config, (path) => inHome(home, path))
  // Made only for an empty database: a lost root key must be said, not replaced by one that opens nothing.
  return loadRootKeys(source, env, { create: await isUnsealed(db) })
}

function workerCount(setting: number): number {
  if (!canSharePort(process.platform)) return 1
  return setting === 0 ? availableParallelism() : setting
}

function recordStart(audit: AuditLog | undefined, time: number, operation: string, version: string): void {
  audit?.trail.record({
    time,
    request_id: '-',
    operation,
    principal: 'warder',
    auth_method: 'none',
    client_ip: '-',
    outcome: 'success',
    status: 200,
    duration_ms: 0,
    details: { version, pid: process.pid },
  })
}
