import { statfsSync } from 'node:fs'
import { type AuditLog, createOwnEvent } from '@warder/audit'
import { findExposedFiles, type Logger, type Metrics, Secret, StartupError } from '@warder/base'
import { createOutbound, readOutboundAccess } from '@warder/outbound'
import { findRestored, forgetRestored, holdLease, type RestoredBackup } from '@warder/storage'
import { listComponents } from './components.ts'
import { readNoteTime, type ServiceLaunch } from './launch.ts'
import { noAudit } from './no-audit.ts'
import { createNoticeJobs } from './notice-jobs.ts'
import { boundTo, startPeriodic, watchClock, watchSchema } from './periodic.ts'
import { openAudit, recordRun, rememberAtStop, startForwarding } from './primary-audit.ts'
import { openCertificates, type PrimaryCertificates } from './primary-certificates.ts'
import { startMeasurements } from './primary-measurements.ts'
import { beginStart, type Start } from './primary-start.ts'
import { openStorage, type Storage } from './primary-storage.ts'
import { claimEndpoints, startWorkers } from './primary-workers.ts'
import { releaseMemoryWhenIdle } from './release-memory.ts'
import { createRootKeyJob } from './root-key-records.ts'
import { describeRootKeySource, watchRootKey } from './root-keys.ts'
import type { ServiceEnvironment, SocketEndpoint } from './service.ts'
import { probeOthers, validateSettings } from './validate-settings.ts'
import { WorkerStartFailed } from './worker.ts'

/** The process counts as hung after so many times the limit of a worker. */
const hungProcessChecks = 3

/** A running service, controlled by signals of its process. */
export interface RunningService {
  readonly url: string
  readonly metricsPort: number | undefined
  /** The listener beside HTTPS, as bound. */
  readonly socket: SocketEndpoint | undefined
  /** Lines to show once, e.g. where the first administrator's password is. */
  readonly notices: readonly string[]
  /** Reads the certificates again; the previous ones stay when the files cannot be used. */
  reloadTls(): void
  /** Stops accepting, finishes running requests, flushes the audit log. */
  stop(): Promise<void>
  /** The supervisor kills the process when it sends no heartbeat for this time; 0 = never. */
  readonly aliveWithinMs: number
  /** Resolves with a reason when the service cannot continue. */
  readonly failed: Promise<string>
}

/**
 * Starts a service: one main thread (this one: audit log, periodic work), one writer thread for SQLite, N workers.
 * Order matters: the root key is checked before anything is written, the database is up to date before any worker
 * reads it, and the port is claimed last, so that a start that fails has not served.
 * @throws StartupError with one line for the person at the terminal
 */
export async function runService(launch: ServiceLaunch): Promise<RunningService> {
  const opened = new AsyncDisposableStack()
  try {
    return await startService(await beginStart(launch, opened))
  } catch (error) {
    await opened.disposeAsync()
    if (error instanceof WorkerStartFailed && error.startup) throw new StartupError(error.message)
    throw error
  }
}

/** Resources that a start opens before it serves. */
interface PreparedService {
  readonly certificates: PrimaryCertificates
  readonly storage: Storage
  readonly audit: AuditLog | undefined
  readonly environment: ServiceEnvironment<unknown>
  readonly notices: readonly string[]
}

/**
 * The part of a start in which settings, files and the database can be refused. Nothing is listened on.
 * @throws StartupError
 */
export async function prepareService(start: Start): Promise<PreparedService> {
  const { launch, definition, clock, log, metrics, opened } = start
  const { config, home } = launch
  await validateSettings(start)
  const { proxy } = readOutboundAccess(config, home, launch.env)
  if (proxy !== undefined) log.info(proxy.description, 'outbound requests go through a proxy')
  const certificates = await openCertificates(start)
  warnOfExposedFiles(home, log)
  const storage = await openStorage(start, certificates)
  const audit = await openAudit(start, storage)
  const environment = await createEnvironment(start, storage, audit)
  if (audit !== undefined) startForwarding(start, storage, audit, environment)
  operatorMetrics(metrics, home, audit)
  const state = new Int32Array(storage.rootKeyState)
  opened.defer(watchRootKey({ launch, service: definition.name, db: storage.db, log, metrics, state }))
  definition.measure?.(environment)
  opened.defer(watchClock({ clock, log, metrics, record: (event) => audit?.trail.record(event) }))
  const { db, seal } = storage
  const { env } = launch
  await definition.checkStored?.({ config, env, now: clock.now(), database: { db, seal } })
  const { notices } = await definition.prepare(environment)
  if (environment.restored !== undefined) await recordRestored(environment, environment.restored)
  return { certificates, storage, audit, environment, notices }
}

async function startService(start: Start): Promise<RunningService> {
  const { launch, definition, log, opened } = start
  const { config } = launch
  const { promise: failed, resolve: giveUp } = Promise.withResolvers<string>()
  const { certificates, storage, audit, environment, notices } = await prepareService(start)
  const endpoints = await claimEndpoints(start, storage)
  const { url, socket } = endpoints
  storage.writer?.onFailure((error) => giveUp(`the SQLite writer failed: ${error.message}`))
  storage.writer?.onProblem((problem) => log.error({ problem }, 'the database cannot be written any more'))
  const shared = definition.share?.(environment)
  if (shared !== undefined) opened.defer(() => shared.close())
  const pool = await startWorkers(start, { certificates, storage, audit, endpoints, shared, giveUp })
  const listener = await startMeasurements(start, environment, pool, certificates.current().https)
  const serving = { ...environment, baseUrl: url }
  startPeriodicWork(start, storage, serving)
  certificates.watch((tls) => {
    pool.setTls(tls)
    listener?.setTls(tls.https)
  })
  if (storage.location.kind === 'postgresql')
    opened.defer(watchSchema({ db: storage.db, components: listComponents(definition), log, giveUp }))
  const background = await definition.background?.(serving)
  if (background !== undefined) opened.defer(() => background.stop())
  opened.defer(releaseMemoryWhenIdle())
  void probeOthers(launch, definition, true).then((problems) => {
    for (const problem of problems) log.warn({}, problem)
  })

  recordRun(start, audit, 'start')
  if (storage.unsealed !== undefined)
    audit?.trail.record({
      ...createOwnEvent(start.clock.now(), 'root_key.unsealed'),
      details: { ...storage.unsealed },
    })
  const { kind: database } = storage.location
  const root_key = await describeRootKeySource(launch)
  log.info({ url, socket, workers: pool.size(), database, root_key, metrics_port: listener?.port }, 'serving')
  return {
    url,
    metricsPort: listener?.port,
    socket,
    notices,
    aliveWithinMs: hungProcessChecks * config.watchdog_seconds * 1000,
    reloadTls: () => void certificates.reload(),
    async stop() {
      await rememberAtStop(start, storage, audit)
      recordRun(start, audit, 'stop')
      await opened.disposeAsync()
    },
    failed,
  }
}

function warnOfExposedFiles(home: string, log: Logger): void {
  const files = findExposedFiles(home)
  if (files.length > 0)
    log.warn(
      { home, files },
      'secret files of the home can be read by other users of this machine: run chmod 700 on the home, chmod 600 on the files, and replace what may have been read',
    )
}

/** The service's environment in this thread; its URL is known once it serves. */
async function createEnvironment(
  { launch, log, metrics, clock, node }: Start,
  { db, seal }: Storage,
  audit: AuditLog | undefined,
): Promise<ServiceEnvironment<unknown>> {
  const { config, home, peerSecret, env } = launch
  return {
    config,
    home,
    baseUrl: '',
    db,
    seal,
    audit: audit?.trail ?? noAudit,
    outbound: createOutbound(readOutboundAccess(config, home, env)),
    log,
    metrics,
    clock,
    node,
    peerSecret: peerSecret === undefined ? undefined : Secret.fromText(peerSecret),
    restored: await findRestored(db),
  }
}

/** Each job on one node at a time, until the service stops. */
function startPeriodicWork(
  { definition, node, clock, log, opened }: Start,
  { db }: Storage,
  environment: ServiceEnvironment<unknown>,
): void {
  const { name, periodic } = definition
  const running = startPeriodic(
    [
      ...periodic.map((job) => boundTo(job, environment)),
      ...createNoticeJobs(definition, environment),
      createRootKeyJob(environment),
    ],
    (job, seconds) => holdLease(db, `${name}:${job}`, `${node}:${process.pid}`, seconds, clock),
    log,
  )
  opened.defer(() => running.stop())
}

/** Records the backup that the database was restored from, once the service is prepared: a failed start leaves it to the next. */
async function recordRestored(
  { db, audit, clock }: ServiceEnvironment<unknown>,
  { digest, madeAt, restoredAt }: RestoredBackup,
): Promise<void> {
  const details = {
    made_at: new Date(madeAt).toISOString(),
    restored_at: new Date(restoredAt).toISOString(),
  }
  await audit.recordDurably({ ...createOwnEvent(clock.now(), 'database.restored'), object: digest, details })
  await db.commit([forgetRestored()])
}

/** Metrics for operators beside those of requests, collected on each scrape. */
function operatorMetrics(metrics: Metrics, home: string, audit: AuditLog | undefined): void {
  const startedAt = Date.now() / 1000
  metrics.gauge('start_timestamp_seconds', 'Time at which the service was started.', () => startedAt)
  metrics.gauge('disk_free_bytes', 'Free disk space of the home.', () => freeBytes(home))
  for (const note of ['backup', 'drill'] as const)
    metrics.gauge(`last_${note}_timestamp_seconds`, `Time of the last successful ${note}; 0 = never.`, () =>
      readNoteTime(home, note),
    )
  if (audit === undefined) return
  metrics.gauge('audit_waiting_records', 'Audit records that wait for the disk.', () => audit.waiting)
  metrics.gauge('audit_writable', '1 = no write to the audit log has failed since the last success.', () =>
    audit.writable ? 1 : 0,
  )
  metrics.gauge('audit_records', 'Number of the last audit record.', () => audit.head.seq)
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}
