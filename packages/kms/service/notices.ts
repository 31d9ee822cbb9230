import { Secret } from '@warder/base'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import { createNotices, type Notices } from '../officers/notices.ts'
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
