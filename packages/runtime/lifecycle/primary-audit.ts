import { setTimeout } from 'node:timers/promises'
import { type AuditLog, createOwnEvent, openAuditLog, resolvePreparedCommits } from '@warder/audit'
import { createAuditTimestamps } from './audit-time-stamps.ts'
import { startCommitRecords } from './commit-records.ts'
import { startAuditForwarding } from './forward-audit.ts'
import { acceptLostAudit, logName, rememberAudit, requireWholeAudit } from './lost-audit.ts'
import type { Start } from './primary-start.ts'
import type { Storage } from './primary-storage.ts'
import { acceptRollback } from './rollback.ts'
import type { ServiceEnvironment } from './service.ts'

const dayMs = 86_400_000
const maxWaitMs = 1000

/**
 * Opens the audit log; log and database know of each other's last changes afterwards (docs/adr/rollback-detection.md,
 * 0025).
 * @returns undefined where the settings switch it off
 */
export async function openAudit(start: Start, storage: Storage): Promise<AuditLog | undefined> {
  const { launch, definition, clock, log, metrics, node, opened } = start
  const { config, home } = launch
  const { db, seal, auditFolder: folder, rollback } = storage
  const known = logName(storage.location, node, home)
  const lost = await requireWholeAudit(launch, definition.name, folder, storage)
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

/** Runs before the last records, which count this commit. An unreachable database keeps the state of the start. */
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
