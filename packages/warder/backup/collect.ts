import { existsSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'
import { snapshotOf } from '@warder/foundation/runtime'
import { logKeysOf } from '../audit/unlocked.ts'
import type { Terminal } from '../cli/command.ts'
import { version } from '../cli/version.ts'
import { auditHead, fileLines } from './home-files.ts'
import { type AuditHead, type BackupLine, rowLines } from './lines.ts'
import { placesOf } from './places.ts'

export interface CollectOptions {
  /** Absolute. */
  readonly home: string
  readonly env: Terminal['env']
  /** Also the file with the root key: whoever opens such a backup has everything. */
  readonly rootKey: boolean
  /** Also the files of the audit logs. */
  readonly audit: boolean
  /** Unix milliseconds. */
  readonly now: number
  /** Told how many rows were read so far. */
  onRow?(rows: number): void
}

/**
 * Everything that a restore needs, read while the services run: the logs and files first, then each database as it is
 * at one moment, so that no log knows more than the database that comes back with it.
 * @throws StartupError when there is no installation in the home
 */
export async function* collect(options: CollectOptions): AsyncGenerator<BackupLine> {
  const { home, env, rootKey, audit, now } = options
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} is not there`)
  const { databases, isKept } = placesOf(home, env, { rootKey, audit })
  yield { kind: 'backup', warder: version, made_at: new Date(now).toISOString(), root_key: rootKey, audit }
  const heads = new Map<string, AuditHead | null>()
  for (const { service, log } of databases)
    heads.set(service, await auditHead(log, (path) => logKeysOf(path, { home, env })))
  let files = 0
  let rows = 0
  for await (const line of fileLines(home, isKept)) {
    if (line.kind === 'file' && line.first) files += 1
    yield line
  }
  for (const { service, place } of databases) {
    const { snapshot, schema } = await snapshotOf(place)
    try {
      yield { kind: 'database', service, schema, audit_head: heads.get(service) ?? null }
      for (const table of snapshot.tables) {
        yield { kind: 'table', ...table }
        for await (const batch of snapshot.rows(table)) {
          rows += batch.length
          yield* rowLines(batch)
          options.onRow?.(rows)
        }
      }
    } finally {
      await snapshot.close()
    }
  }
  yield { kind: 'end', files, rows }
}
