import { statfsSync } from 'node:fs'
import type { AuditLog } from '@warder/audit'
import type { Metrics } from '@warder/base'
import { readNoteTime } from './notes.ts'

/** Metrics for operators beside those of requests, collected on each scrape. */
export function operatorMetrics(metrics: Metrics, home: string, audit: AuditLog | undefined): void {
  const startedAt = Date.now() / 1000
  metrics.gauge('start_timestamp_seconds', 'When the service was started.', () => startedAt)
  metrics.gauge('disk_free_bytes', 'Room left where the home is.', () => freeBytes(home))
  for (const note of ['backup', 'drill'] as const)
    metrics.gauge(`last_${note}_timestamp_seconds`, `When the last ${note} succeeded; 0 = never.`, () =>
      readNoteTime(home, note),
    )
  if (audit === undefined) return
  metrics.gauge('audit_waiting_records', 'Audit records that wait for the disk.', () => audit.waiting)
  metrics.gauge('audit_writable', '1 = the audit log can be written, as far as is known.', () =>
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
