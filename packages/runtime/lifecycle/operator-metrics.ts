import { statfsSync } from 'node:fs'
import type { AuditLog } from '@warder/audit'
import type { Metrics } from '@warder/base'
import { readNoteTime } from './notes.ts'

/** Metrics for operators beside those of requests, collected on each scrape. */
export function operatorMetrics(metrics: Metrics, home: string, audit: AuditLog | undefined): void {
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
