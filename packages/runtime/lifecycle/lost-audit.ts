import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { relative } from 'node:path'
import {
  type AuditLog,
  createOwnEvent,
  exportAudit,
  findRememberedHead,
  openLogKeys,
  rememberHead,
  tailAudit,
} from '@warder/audit'
import { StartupError } from '@warder/base'
import { type Database, findRestored, type Seal } from '@warder/storage'
import { connect, type DatabaseLocation, toDatabaseLocation } from './database.ts'
import type { ServiceLaunch } from './launch.ts'

// The database stores how many records its log had at the last start and stop: a log that was deleted, or truncated before
// that record, is not accepted as a new one.

/** The number of records that the database knows, and the smaller number in the log. */
export interface LostAudit {
  readonly known: number
  readonly found: number
}

/** Name of a log in its database: nodes that share a database outside of their homes have one each. */
export function logName(location: DatabaseLocation, node: string, home: string): string {
  const isOfHome = location.kind === 'sqlite' && !relative(home, location.path).startsWith('..')
  return isOfHome ? '' : `${node}:${home}`
}

/**
 * Compares the log with the database before it is opened.
 * @param seal opens encrypted files; undefined = their records are not counted, and the log is taken as it is
 */
async function findLostAudit(
  db: Database,
  log: string,
  folder: string,
  seal: Pick<Seal, 'open'> | undefined,
): Promise<LostAudit | undefined> {
  const known = await findRememberedHead(db, log)
  // A backup contains the log only on request.
  if (known === undefined || (await findRestored(db)) !== undefined) return undefined
  const found = await countRecords(folder, seal)
  return found === undefined || found >= known.seq ? undefined : { known: known.seq, found }
}

/** Number of the last record; undefined = unknown, e.g. of a damaged log, which is handled when it is opened. */
async function countRecords(
  folder: string,
  seal: Pick<Seal, 'open'> | undefined,
): Promise<number | undefined> {
  if (!existsSync(folder)) return 0
  try {
    const keys = seal === undefined ? undefined : await openLogKeys(folder, seal)
    let last = 0
    for await (const line of tailAudit({ folder, format: 'json', lines: 1, keys }))
      last = JSON.parse(line).seq
    return last > 0 && (await isSealedAnew(folder)) ? undefined : last
  } catch {
    return undefined
  }
}

/** Whether the log replaced a broken one, which was put aside under another name: its first record states that. */
async function isSealedAnew(folder: string): Promise<boolean> {
  for await (const line of exportAudit({ folder, format: 'json' }))
    return JSON.parse(line).operation === 'audit.chain_sealed'
  return false
}

/**
 * Refuses a log that lost records. Every start checks it, and so does `warder check`.
 * @returns the loss that the operator accepted
 * @throws StartupError
 */
export async function requireWholeAudit(
  { config, home, acceptRollback }: Pick<ServiceLaunch, 'config' | 'home' | 'acceptRollback'>,
  service: string,
  folder: string,
  {
    db,
    location,
    seal,
  }: {
    readonly db: Database
    readonly location: DatabaseLocation
    readonly seal: Pick<Seal, 'open'> | undefined
  },
): Promise<LostAudit | undefined> {
  if (!config.audit_enabled) return undefined
  const log = logName(location, config.node_name ?? hostname(), home)
  const lost = await findLostAudit(db, log, folder, seal)
  if (lost !== undefined && acceptRollback !== true) refuseLostAudit(service, folder, lost)
  return lost
}

/** @throws StartupError that names the way out */
function refuseLostAudit(service: string, folder: string, { known, found }: LostAudit): never {
  throw new StartupError(
    `${service}: the audit log in ${folder} ${found === 0 ? 'is missing' : `ends with record ${found}`}, but the database recorded ${known} records. ` +
      'Restore its files, or accept the loss: start once with --accept-rollback; the audit log records it',
  )
}

/** Records that the operator accepted it. */
export async function acceptLostAudit(
  audit: AuditLog,
  now: number,
  { known, found }: LostAudit,
): Promise<void> {
  await audit.trail.recordDurably({
    ...createOwnEvent(now, 'audit.loss_accepted'),
    outcome: 'failure',
    details: { known_records: known, found_records: found },
  })
}

/** Stores the log's last record on disk in the database. */
export async function rememberAudit(db: Database, log: string, audit: AuditLog): Promise<void> {
  const { head } = audit
  await audit.trail.flush()
  await db.commit([rememberHead(log, head)])
}

/**
 * Number of the last record that the database of a service knows of, for a command.
 * @returns undefined when it knows of none, or cannot be asked
 */
export async function readRememberedSeq(
  service: string,
  { config, home }: Pick<ServiceLaunch, 'config' | 'home'>,
): Promise<number | undefined> {
  const location = toDatabaseLocation(config, home, service)
  // Opening would create it.
  if (!config.audit_enabled || (location.kind === 'sqlite' && !existsSync(location.path))) return undefined
  try {
    const db = await connect(location, undefined)
    try {
      if ((await findRestored(db)) !== undefined) return undefined
      const log = logName(location, config.node_name ?? hostname(), home)
      return (await findRememberedHead(db, log))?.seq
    } finally {
      await db.close()
    }
  } catch {
    return undefined
  }
}
