import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type LogKeys, LogReader } from '@warder/audit'
import { StartupError } from '@warder/base'
import { type ServiceName, serviceNames } from '@warder/command-line/endpoints'
import type { AuditHead } from './lines.ts'

const maxBatchRecords = 1000
const maxBatchLength = 8 * 1024 * 1024

/**
 * Counts the operations after a backup in the logs of the lost installation. Their effects are lost, and keys that were
 * destroyed work again.
 * @param folder `audit/` of that installation
 * @param readKeys reads the keys of an encrypted log
 */
export async function describeLostOperations(
  folder: string,
  heads: Readonly<Partial<Record<ServiceName, AuditHead>>>,
  readKeys: (log: string) => Promise<LogKeys>,
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const service of serviceNames) {
    const log = join(folder, service)
    if (!existsSync(log)) continue
    const counts = await readKeys(log).then(
      (keys) => countOperations(log, heads[service]?.seq ?? 0, keys),
      toRefusal,
    )
    if (typeof counts === 'string') {
      lines.push(`${service}: ${counts}`)
      continue
    }
    const told = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${name} ${count}`)
    lines.push(
      told.length === 0
        ? `${service}: the log has no operations after the backup`
        : `${service}: operations after the backup, now lost: ${told.join(', ')}`,
    )
  }
  return lines
}

/** The restore succeeds even if the old log cannot be read. */
function toRefusal(error: unknown): string {
  if (error instanceof StartupError) return error.message
  throw error
}

async function countOperations(
  log: string,
  seq: number,
  keys: LogKeys,
): Promise<ReadonlyMap<string, number>> {
  const reader = new LogReader(log, seq, keys)
  const counts = new Map<string, number>()
  for (;;) {
    const records = await reader.next(maxBatchRecords, maxBatchLength)
    if (records.length === 0) return counts
    for (const { line } of records) {
      const { operation, outcome } = JSON.parse(line) as {
        readonly operation: string
        readonly outcome: string
      }
      if (outcome === 'success') counts.set(operation, (counts.get(operation) ?? 0) + 1)
    }
  }
}
