import { setTimeout } from 'node:timers/promises'
import {
  type AuditLog,
  commitsOperation,
  createCollectorTarget,
  createOwnEvent,
  createSyslogTarget,
  type ForwardTarget,
  type IndexKeeper,
  openAuditLog,
  rememberNode,
  resolvePreparedCommits,
  startForwarder,
  startIndexKeeper,
} from '@warder/audit'
import { type Clock, inHome, type Logger } from '@warder/base'
import { readOutboundAccess } from '@warder/outbound'
import { type Database, readCommitCount } from '@warder/storage'
import { createAuditTimestamps } from './audit-time-stamps.ts'
import type { RuntimeConfig } from './launch.ts'
import { acceptLostAudit, logName, rememberAudit, requireWholeAudit } from './lost-audit.ts'
import { createServiceNotices } from './notice-jobs.ts'
import type { Start } from './primary-start.ts'
import type { Storage } from './primary-storage.ts'
import { acceptRollback } from './rollback.ts'
import type { ServiceEnvironment } from './service.ts'

/** Commits of at most this time before a crash are unknown to the log. */
const recordEveryMs = 250
/** After this many other records a new one is written even without commits, so that it is near the end of the log. */
const maxRecordsBetween = 50_000

interface CommitRecords {
  /** Writes the last record. */
  stop(): Promise<void>
}

/**
 * Records the database's number of commits in the audit log. The number is read from the database, in which it is
 * durable before it is recorded: after a crash the database is never behind the log. A record is written only after
 * other records: the periodic work of an idle service writes none.
 */
async function startCommitRecords(options: {
  readonly db: Database
  readonly audit: Pick<AuditLog, 'head' | 'trail'>
  readonly clock: Clock
  readonly log: Logger
}): Promise<CommitRecords> {
  const { db, audit, clock, log } = options
  let recorded = -1
  /** `seq` of the last one. */
  let at = 0
  let warned = false

  const record = async (): Promise<void> => {
    const { seq } = audit.head
    if (seq === at && recorded >= 0) return
    const commits = await readCommitCount(db)
    if (commits === undefined || (commits === recorded && seq - at < maxRecordsBetween)) return
    if (commits < recorded) {
      // The database was restored, or failed over to an older copy, under a running service: the next start is refused.
      if (!warned)
        log.error({ known: recorded, found: commits }, 'the database lost commits while it was in use')
      warned = true
      return
    }
    await audit.trail.recordDurably({
      ...createOwnEvent(clock.now(), commitsOperation),
      details: { commits },
    })
    recorded = commits
    at = seq + 1
  }
  /** Errors of the log or the database are ignored, since the next attempt follows. */
  const attempt = (): Promise<void> => record().catch(() => undefined)

  await record()
  let turn: Promise<void> | undefined
  const timer = setInterval(() => {
    turn ??= attempt().finally(() => {
      turn = undefined
    })
  }, recordEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await turn
      await attempt()
    },
  }
}

const syslogTimeoutMs = 30_000

interface ForwardAudit {
  readonly config: RuntimeConfig
  readonly home: string
  readonly folder: string
  readonly audit: AuditLog
  readonly environment: Pick<ServiceEnvironment<unknown>, 'clock' | 'log' | 'metrics' | 'outbound'>
}

/** Sends the audit log to the targets of the settings. */
function startAuditForwarding(options: ForwardAudit): { stop(): Promise<void> } {
  const { folder, audit, environment } = options
  const running = createTargets(options).map((target) =>
    startForwarder({
      ...environment,
      folder,
      target,
      keys: audit.keys,
      head: () => audit.head.seq,
      record: (event) => audit.trail.record(event),
    }),
  )
  return {
    async stop() {
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

function createTargets({ config, home, environment }: ForwardAudit): readonly ForwardTarget[] {
  const file = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : inHome(home, path)
  const found: ForwardTarget[] = []
  if (config.audit_collector_url !== undefined)
    found.push(
      createCollectorTarget({
        url: config.audit_collector_url,
        tokenFile: file(config.audit_collector_token_file),
        outbound: environment.outbound,
      }),
    )
  if (config.audit_syslog !== undefined) {
    const { hostname, port } = new URL(`tls://${config.audit_syslog}`)
    found.push(
      createSyslogTarget({
        host: hostname.replace(/^\[|\]$/g, ''),
        port: Number(port),
        ...readOutboundAccess(config, home),
        timeoutMs: syslogTimeoutMs,
      }),
    )
  }
  return found
}

/** Announces a damaged log to the receivers of notices. */
async function announceDamage(
  { definition, launch, clock, log, metrics, node }: Start,
  db: Database,
  about: { readonly file: string; readonly problem: string },
): Promise<void> {
  const notices = createServiceNotices(definition, { config: launch.config, db, clock, log, metrics })
  await notices?.tell('audit.broken', { node, ...about }, { object: `${node} ${about.file}` })
}

const dayMs = 86_400_000
const maxWaitMs = 1000

/**
 * Opens the audit log; log and database know of each other's last changes afterwards (docs/adr/rollback-detection.md,
 * 0025).
 * @returns undefined if the settings switch it off
 */
export async function openAudit(start: Start, storage: Storage): Promise<AuditLog | undefined> {
  const { launch, definition, clock, log, metrics, node, opened } = start
  const { config, home } = launch
  const { db, seal, auditFolder: folder, rollback } = storage
  const known = logName(storage.location, node, home)
  const lost = await requireWholeAudit(launch, definition.name, folder, storage)
  let keeper: IndexKeeper | undefined
  const audit = config.audit_enabled
    ? await openAuditLog({
        folder,
        service: definition.name,
        node,
        mode: config.audit_failure_mode,
        rotateBytes: config.audit_rotate_bytes,
        rotateMs: config.audit_rotate_days * dayMs,
        seal,
        encrypt: config.audit_encryption,
        onNewFile: () => keeper?.onNewFile(),
        onDamage: (file, problem) => void announceDamage(start, db, { file, problem }),
        timestamp: createAuditTimestamps(config, home),
        clock,
        log,
        metrics,
      })
    : undefined
  if (audit !== undefined) opened.defer(() => audit.close())
  if (rollback !== undefined) {
    await acceptRollback(db, audit, clock.now(), rollback)
    log.warn({ ...rollback }, 'the operator accepted the loss of commits of the database')
  }
  if (audit === undefined) return undefined
  if (lost !== undefined) {
    await acceptLostAudit(audit, clock.now(), lost)
    log.warn({ ...lost }, 'the operator accepted the loss of audit records')
  }
  await resolvePreparedCommits({ folder, db, trail: audit.trail, keys: audit.keys, log, now: clock.now })
  const records = await startCommitRecords({ db, audit, clock, log })
  opened.defer(() => records.stop())
  await rememberAudit(db, known, audit)
  await db.commit(rememberNode({ log: known, node, address: config.node_url ?? '' }, clock.now(), seal))
  const { keys } = audit
  keeper = await startIndexKeeper({ folder, keys, seal, log, seq: () => audit.head.seq })
  opened.defer(() => keeper?.stop())
  return audit
}

/** Sends the log to the targets of the settings, until the service stops. */
export function startForwarding(
  { launch, opened }: Start,
  { auditFolder: folder }: Storage,
  audit: AuditLog,
  environment: ServiceEnvironment<unknown>,
): void {
  const { config, home } = launch
  const forwarding = startAuditForwarding({ config, home, folder, audit, environment })
  opened.defer(() => forwarding.stop())
}

/**
 * Runs before the last records, which count this commit. For an unreachable database the state of the start remains.
 */
export async function rememberAtStop(
  { launch, node }: Start,
  { db, location }: Storage,
  audit: AuditLog | undefined,
): Promise<void> {
  if (audit === undefined) return
  const remembered = rememberAudit(db, logName(location, node, launch.home), audit).catch(() => undefined)
  await Promise.race([remembered, setTimeout(maxWaitMs, undefined, { ref: false })])
}

/** Records that the service starts or stops. */
export function recordRun(start: Start, audit: AuditLog | undefined, what: 'start' | 'stop'): void {
  audit?.trail.record({
    ...createOwnEvent(start.clock.now(), `service.${what}`),
    details: { version: start.launch.version, pid: process.pid },
  })
}
