import { type Logger, StartupError } from '@warder/base'
import { type Database, UniqueViolation } from '@warder/storage'
import type { LogKeys } from './encrypted-bytes.ts'
import { listLogFiles } from './folder.ts'
import { readLines } from './lines.ts'
import {
  deleteSource,
  findSources,
  insertRefusedCommit,
  type SourceRow,
  wasRefused,
} from './prepared-commit-store.ts'
import type { AuditEvent, AuditTrail } from './types.ts'

export interface ResolveOptions {
  readonly folder: string
  /** Of encrypted files. */
  readonly keys: LogKeys
  readonly db: Database
  readonly trail: AuditTrail
  readonly log: Logger
  now(): number
}

type Line = Readonly<Record<string, unknown>>

/** The records of the last run follow the second last record of this operation: a run serves before it writes its own. */
const startOperation = 'service.start'
const startsToRead = 2

/**
 * At a start: finds successes that were recorded before their commit (mode `reject`) although the process died before the
 * commit, and records a correction of each. To decide, it claims the number of the commit in the database. The claim fails
 * when the commit has happened, and otherwise prevents it: a PostgreSQL server may still run the commit of a dead process,
 * which this function waits for.
 */
export async function resolvePreparedCommits(options: ResolveOptions): Promise<void> {
  const { db, folder, log, keys } = options
  const sources = new Map((await findSources(db)).map((row) => [row.source, row]))
  if (sources.size === 0) return
  const found = await findPrepared(folder, keys, sources)
  let count = 0
  for (const [id, lines] of found.open) {
    const { source, number } = parseCommitId(id)
    if (await isCommitted(db, source, number)) continue
    for (const line of lines) await recordCorrection(options, createCorrection(line, id, options.now()))
    count += lines.length
  }
  for (const source of found.sources) await db.commit(deleteSource(source))
  if (count > 0)
    log.warn(
      { count },
      'successes that the audit log recorded did not happen; the audit log now records that',
    )
}

async function recordCorrection({ trail, folder }: ResolveOptions, event: AuditEvent): Promise<void> {
  try {
    await trail.recordDurably(event)
  } catch (error) {
    const { cause = error } = error as Error
    throw new StartupError(
      `audit: the log in ${folder} contains successes that did not happen, and the record about this cannot be written: ${cause instanceof Error ? cause.message : cause}`,
    )
  }
}

async function isCommitted(db: Database, source: string, number: number): Promise<boolean> {
  try {
    await db.commit([insertRefusedCommit(source, number)])
    return false
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
    // An earlier start may have claimed the number, and ended before it wrote the correction.
    return !(await wasRefused(db, source, number))
  }
}

interface PreparedInLog {
  /** Sources of this log, also those without an open commit. */
  readonly sources: ReadonlySet<string>
  /** Announcements without a correction, by the id of their commit. */
  readonly open: ReadonlyMap<string, readonly Line[]>
}

/** Reads the log backwards, to the beginning of the last run. */
async function findPrepared(
  folder: string,
  keys: LogKeys,
  known: ReadonlyMap<string, SourceRow>,
): Promise<PreparedInLog> {
  const sources = new Set<string>()
  const open = new Map<string, Line[]>()
  const corrected = new Set<string>()
  let starts = 0
  for (const { path } of listLogFiles(folder).toReversed()) {
    for await (const { bytes, whole } of readLines(path, { keys })) {
      if (!whole) break
      if (bytes.includes(`"operation":"${startOperation}"`)) starts += 1
      if (!bytes.includes('"commit":"')) continue
      const line = JSON.parse(bytes.toString('utf8')) as Line
      const { commit, follows } = (line.details ?? {}) as Line
      if (typeof commit !== 'string') continue
      const { source, number } = parseCommitId(commit)
      const row = known.get(source)
      if (row === undefined) continue
      sources.add(source)
      if (follows !== undefined) corrected.add(formatSubject(commit, line))
      else if (isOpen(row, number)) open.set(commit, [...(open.get(commit) ?? []), line])
    }
    if (starts >= startsToRead) break
  }
  const left = [...open]
    .map(
      ([commit, lines]) =>
        [commit, lines.filter((line) => !corrected.has(formatSubject(commit, line)))] as const,
    )
    .filter(([, lines]) => lines.length > 0)
    .sort(([, [a]], [, [b]]) => Number(a?.seq) - Number(b?.seq))
  return { sources, open: new Map(left) }
}

/** Identifies a record within a commit, which the items of a batch share. */
function formatSubject(commit: string, { operation, object }: Line): string {
  return JSON.stringify([commit, operation, object])
}

function parseCommitId(id: string): { readonly source: string; readonly number: number } {
  const dash = id.lastIndexOf('-')
  return { source: id.slice(0, dash), number: Number(id.slice(dash + 1)) }
}

function isOpen({ settled_below, still_open }: SourceRow, number: number): boolean {
  if (!Number.isSafeInteger(number)) return false
  return number >= settled_below || (JSON.parse(still_open) as number[]).includes(number)
}

/** The event that corrects a success announced in `line` that did not happen. */
function createCorrection(line: Line, commit: string, now: number): AuditEvent {
  const text = (name: string): string => String(line[name] ?? '-')
  const optional = (name: string) => (typeof line[name] === 'string' ? { [name]: line[name] } : {})
  return {
    time: now,
    request_id: text('request_id'),
    operation: text('operation'),
    principal: text('principal'),
    auth_method: text('auth_method'),
    client_ip: text('client_ip'),
    ...optional('realm'),
    ...optional('object'),
    ...optional('algorithm'),
    outcome: 'failure',
    status: 503,
    reason: 'not_committed',
    duration_ms: 0,
    details: { commit, follows: 'uncommitted', announced_by: line.seq, found_at: 'start' },
  }
}
