import type { Metrics } from '@warder/base'
import type { Database } from '@warder/storage'

/** Metrics of a worker's connections to its database. */
export function databaseMetrics(metrics: Metrics, db: Database): void {
  metrics.gauge('database_waiting_commits', 'Commits that wait for the writer or a connection.', () => {
    return db.load().waitingCommits
  })
  metrics.collected('database_errors_total', {
    type: 'counter',
    help: 'Statements and commits that failed in the database.',
    label: 'kind',
    read: async () => ({ ...db.load().errors }),
  })
  if (db.dialect !== 'postgresql') return
  metrics.collected('database_connections', {
    type: 'gauge',
    help: 'Connections of the pool for commits.',
    label: 'state',
    read: async () => ({ ...db.load().pool }),
  })
}
