import { Secret, type ServiceEnvironment } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import { createNotices, type Notices } from '../api/officers/notices.ts'
import type { KmsConfig } from './settings.ts'

/** One for each database: its bound counts all notices that wait. */
const made = new WeakMap<Database, Notices>()

/** Notices by the settings `approvals.webhook_…`. undefined: none are sent. */
export function getNotices({
  config,
  db,
  outbound,
  clock,
  log,
}: Pick<ServiceEnvironment<KmsConfig>, 'config' | 'db' | 'outbound' | 'clock' | 'log'>): Notices | undefined {
  const { 'approvals.webhook_url': url, 'approvals.webhook_secret': secret } = config
  if (url === undefined || secret === undefined) return undefined
  const notices =
    made.get(db) ?? createNotices({ url, secret: Secret.fromText(secret), outbound, clock, log })
  made.set(db, notices)
  return notices
}
