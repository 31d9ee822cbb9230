import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listProblems } from './health-problems.ts'

const now = Date.parse('2026-11-28T12:00:00Z')
const day = 86_400_000
const inDays = (days: number): string => new Date(now + days * day).toISOString()
const certificate = {
  ...{ use: 'https' as const, subject: 'CN=Warder kms', issuer: 'CN=Local', sha256: 'AB' },
  not_after: inDays(60),
}
const gib = 1024 ** 3
const healthy: Parameters<typeof listProblems>[0] = {
  ...{ service: 'kms', version: '1.0.0', node: 'a', started_at: inDays(-1), checked_at: inDays(0) },
  parts: { database: { name: 'sqlite', status: 'UP' } },
  nodes: [{ node: 'a', answered: true, problems: [] }],
  certificates: [certificate],
  backups: { last_backup_at: inDays(-1), last_drill_at: inDays(-30) },
  disks: [{ path: '/home', free_bytes: 50 * gib, total_bytes: 100 * gib }],
  database: {
    ...{ engine: 'sqlite', version: '3.50.0', location: '/home/kms.db', problems: [] },
    migrations: [{ component: 'kms', done: 3, pending: 0, newer: 0 }],
  },
  audit: { enabled: true, failure_mode: 'reject', encrypted: false },
  root_key: { source: 'file', usable: true, sealed: false },
  settings: [],
}
const list = (change: Partial<typeof healthy>) =>
  listProblems({ ...healthy, ...change }, now, 48).map(({ about, level, problem }) => [about, level, problem])

test('a healthy service has no problem', () => {
  assert.deepEqual(list({}), [])
})

test('each member that is wrong is named', () => {
  assert.deepEqual(
    list({
      parts: { database: { name: 'sqlite', status: 'DOWN', message: 'The database does not respond.' } },
      nodes: [{ node: 'b', answered: false, reason: 'the connection failed', problems: ['its log ends'] }],
      certificates: [
        { ...certificate, not_after: inDays(29) },
        { ...certificate, use: 'socket', not_after: inDays(6.5) },
        { ...certificate, use: 'client_authority', not_after: inDays(-1) },
      ],
      backups: { last_backup_at: null, last_drill_at: inDays(-91) },
      disks: [
        { path: '/a', free_bytes: gib, total_bytes: 100 * gib },
        { path: '/b', free_bytes: 100 * 1024 ** 2, total_bytes: 100 * gib },
        { path: '/large', free_bytes: 3 * gib, total_bytes: 1000 * gib },
        { path: '/small', free_bytes: gib / 2, total_bytes: gib },
      ],
      database: {
        ...healthy.database,
        problems: ['fsync = off'],
        migrations: [{ component: 'kms', done: 4, pending: 0, newer: 1 }],
      },
      audit: { ...healthy.audit, enabled: false },
      root_key: { ...healthy.root_key, usable: false },
    }),
    [
      ['parts', 'danger', 'sqlite: The database does not respond.'],
      ['nodes', 'warning', 'Node b does not answer: the connection failed.'],
      ['audit', 'danger', 'Node b: its log ends.'],
      ['certificates', 'warning', 'The certificate of HTTPS (CN=Warder kms) expires in 29 days.'],
      [
        'certificates',
        'danger',
        'The certificate of the listener beside HTTPS (CN=Warder kms) expires in 7 days.',
      ],
      ['certificates', 'danger', 'An authority of client certificates (CN=Warder kms) has expired.'],
      ['backups', 'warning', 'This node knows no backup.'],
      ['backups', 'warning', 'This node knows no test of a restore of the last 90 days.'],
      ['disks', 'warning', 'The disk of /a has 1024 MiB free.'],
      ['disks', 'danger', 'The disk of /b has 100 MiB free.'],
      ['database', 'danger', 'fsync = off'],
      ['database', 'warning', 'A newer version of the program has changed the database.'],
      ['root_key', 'danger', 'The root key cannot be opened any more: a restart would fail.'],
      ['audit', 'warning', 'The audit log is disabled.'],
    ],
  )
})

test('a backup that is older than the setting is named', () => {
  const backups = { ...healthy.backups, last_backup_at: inDays(-2.1) }
  assert.deepEqual(list({ backups }), [
    ['backups', 'warning', 'This node knows no backup of the last 48 hours.'],
  ])
})
