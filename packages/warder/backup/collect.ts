import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type LogKeys, readClosedHead, tailAudit } from '@warder/audit'
import { StartupError } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import type { ServiceName } from '@warder/command-line/endpoints'
import { openSnapshot } from '@warder/runtime/launch'
import { readLogKeys } from '../audit/unlock-log.ts'
import { version } from '../version.ts'
import { findBackupSources } from './backup-sources.ts'
import { type AuditHead, type BackupLine, encodeRows } from './lines.ts'

export interface CollectOptions {
  /** Absolute. */
  readonly home: string
  readonly env: Terminal['env']
  /** Includes the root key file: such a backup and its passphrase or key are enough to read everything. */
  readonly rootKey: boolean
  /** Includes the files of the audit logs. */
  readonly audit: boolean
  /** Unix milliseconds. */
  readonly now: number
  /** Receives the number of rows read so far, and the approximate total. */
  onRow?(rows: number, all: number): void
  /** Aborts the backup. */
  readonly signal?: AbortSignal | undefined
}

type DatabaseCopy = Awaited<ReturnType<typeof openSnapshot>> & { readonly service: ServiceName }

/**
 * Reads everything that a restore needs while the services run: first the logs and files, so that no log is newer than
 * its restored database, then a snapshot of each database. The snapshots are taken milliseconds apart, however long the
 * copies take. The kms comes first, so that every user with rights there also exists at auth.
 * @throws StartupError when there is no installation in the home
 */
export async function* collect(options: CollectOptions): AsyncGenerator<BackupLine> {
  const { home, env, rootKey, audit, now, signal } = options
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
  const { databases, isKept } = findBackupSources(home, env, { rootKey, audit })
  yield { kind: 'backup', warder: version, made_at: new Date(now).toISOString(), root_key: rootKey, audit }
  const heads = new Map<string, AuditHead | null>()
  for (const { service, log } of databases)
    heads.set(service, await readAuditHead(log, (path) => readLogKeys(path, { home, env })))
  let files = 0
  let rows = 0
  for await (const line of readFileLines(home, isKept)) {
    if (line.kind === 'file' && line.first) files += 1
    yield line
  }
  const copies: DatabaseCopy[] = []
  try {
    for (const { service, place } of [...databases].reverse())
      copies.push({ service, ...(await openSnapshot(place)) })
    let all = 0
    for (const { snapshot } of copies) all += await snapshot.count()
    for (const { service, snapshot, schema } of copies) {
      yield { kind: 'database', service, schema, audit_head: heads.get(service) ?? null }
      for (const table of snapshot.tables) {
        yield { kind: 'table', ...table }
        for await (const batch of snapshot.rows(table)) {
          signal?.throwIfAborted()
          rows += batch.length
          yield* encodeRows(batch)
          options.onRow?.(rows, all)
        }
      }
    }
  } finally {
    for (const { snapshot } of copies) await snapshot.close()
  }
  yield { kind: 'end', files, rows }
}

const partBytes = 512 * 1024

/**
 * Reads the files of a home as lines. A file that is being written is read up to its size at that moment.
 * @param isKept filter on the absolute path, called before a file is opened
 */
async function* readFileLines(home: string, isKept: (path: string) => boolean): AsyncGenerator<BackupLine> {
  for (const path of listFiles(home).filter(isKept)) {
    const { mode, size } = statSync(path)
    const common = { kind: 'file', path: relative(home, path), mode: mode & 0o777 } as const
    let first = true
    if (size > 0)
      for await (const part of createReadStream(path, { end: size - 1, highWaterMark: partBytes })) {
        yield { ...common, first, data: (part as Buffer).toString('base64') }
        first = false
      }
    if (first) yield { ...common, first, data: '' }
  }
}

/** Lists the files below a folder, without links and sockets. */
function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/**
 * Reads the head of a log; null: it has no records.
 * @param readKeys reads the keys of an encrypted log; if it fails, the head is that of the last closed file, because a
 *   backup must not need the root key
 */
export async function readAuditHead(
  folder: string,
  readKeys: (folder: string) => Promise<LogKeys>,
): Promise<AuditHead | null> {
  if (!existsSync(folder)) return null
  const keys = await readKeys(folder).catch((error: unknown) => {
    if (error instanceof StartupError) return undefined
    throw error
  })
  if (keys === undefined) return readClosedHead(folder) ?? null
  for await (const line of tailAudit({ folder, keys, format: 'json', lines: 1 })) {
    const { seq, hash } = JSON.parse(line) as AuditHead
    return { seq, hash }
  }
  return null
}
