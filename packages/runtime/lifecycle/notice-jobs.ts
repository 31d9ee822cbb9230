import { inHome, readPasswordFile } from '@warder/base'
import { readAuthorities } from '@warder/server'
import { type Change, type Database, GuardFailed } from '@warder/storage'
import type { NoticeConfig } from '../config/notice-settings.ts'
import { countNotices, raiseMark, readMark } from '../notices/notice-store.ts'
import {
  createNotices,
  type NoticeDefinition,
  type Notices,
  validateNoticeSettings,
} from '../notices/notices.ts'
import { createMailer, createWebhook, type NoticeReceiver } from '../notices/receivers.ts'
import { isNoticeDue, sendDueNotices } from '../notices/sender.ts'
import { type RuntimeConfig, readNoteTime } from './launch.ts'
import type { PeriodicJob } from './periodic.ts'
import type { ServiceDefinition, ServiceEnvironment } from './service.ts'

type Config = RuntimeConfig & NoticeConfig
type Environment = Pick<ServiceEnvironment<unknown>, 'config' | 'home' | 'outbound' | 'clock' | 'node'>

const sendEverySeconds = 2

/** The receivers that the settings name. */
export function createReceivers(
  name: string,
  definition: Pick<NoticeDefinition<never>, 'webhook'>,
  environment: Environment,
): readonly NoticeReceiver[] {
  const config = environment.config as Config
  const { home, node, outbound, clock } = environment
  const found: NoticeReceiver[] = []
  const webhook = definition.webhook(config as never)
  if (webhook !== undefined) found.push(createWebhook({ ...webhook, outbound, clock }))
  if (config.smtp_host !== undefined) found.push(createMailer({ config, home, service: name, node, clock }))
  return found
}

/** @returns undefined if the service has no notices, or the settings name no receiver */
export function createServiceNotices(
  { notices }: ServiceDefinition<unknown, unknown>,
  environment: Pick<ServiceEnvironment<unknown>, 'config' | 'db' | 'clock' | 'log' | 'metrics'>,
): Notices | undefined {
  if (notices === undefined) return undefined
  return createNotices({ ...environment, config: environment.config as Config, definition: notices })
}

const backupMark = 'last backup'
const backupNoticeMark = 'notice about the last backup'
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const keptMs = 3650 * dayMs

/**
 * Announces once a day that the last backup is too old. A backup is noted in the home of the node that made it, so each
 * node reports the newest one that it knows to the database. Without any backup the time counts from the first check.
 */
function createBackupJob(notices: Notices, environment: ServiceEnvironment<unknown>): PeriodicJob {
  const { db, clock, home } = environment
  const { notice_backup_hours: hours } = environment.config as Config
  const readAge = async (): Promise<{ readonly at: number; readonly now: number }> => {
    const now = clock.now()
    const stored = await readMark(db, backupMark)
    const own = Math.min(now, readNoteTime(home, 'backup') * 1000)
    if (stored !== undefined && stored >= own) return { at: stored, now }
    const at = own > 0 ? own : now
    await commitMark(db, raiseMark(backupMark, { value: at, until: now + keptMs, below: at, above: now }))
    return { at, now }
  }
  return {
    name: 'age of the last backup',
    everySeconds: 600,
    async due() {
      const { at, now } = await readAge()
      const told = await readMark(db, backupNoticeMark)
      return now - at > hours * hourMs && (told === undefined || told <= now - dayMs || told > now)
    },
    async run() {
      const { at, now } = await readAge()
      const about = { last_backup_at: new Date(at).toISOString(), older_than_hours: hours }
      const mark = { value: now, until: now + keptMs, below: now - dayMs, above: now }
      await commitMark(db, raiseMark(backupNoticeMark, mark), notices.stage('backup.old', about))
    },
  }
}

/** Does nothing if another node was faster. */
async function commitMark(db: Database, mark: Change, more: readonly Change[] = []): Promise<void> {
  try {
    await db.commit([mark, ...more])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
  }
}

/** Sends waiting notices, in the node that has the lease. */
export function createNoticeJobs(
  definition: ServiceDefinition<unknown, unknown>,
  environment: ServiceEnvironment<unknown>,
): readonly PeriodicJob[] {
  const { name, notices } = definition
  const { db, clock, log, metrics } = environment
  const receivers = notices === undefined ? [] : createReceivers(name, notices, environment)
  if (notices === undefined || receivers.length === 0) return []
  metrics.collected('notices_waiting', {
    type: 'gauge',
    help: 'Notices that wait for a receiver, or collect repeats after they were sent.',
    read: () => countNotices(db),
  })
  const announced = createServiceNotices(definition, environment)
  const backups = announced?.announces('backup.old') ? [createBackupJob(announced, environment)] : []
  return [
    ...backups,
    {
      name: 'notices',
      everySeconds: sendEverySeconds,
      due: () => isNoticeDue(db, receivers, clock.now()),
      run: () => sendDueNotices({ events: notices.events, receivers, db, clock, log, metrics }),
    },
  ]
}

/** @throws StartupError for settings with which notices cannot be sent */
export function requireNoticeSettings(
  { notices }: ServiceDefinition<unknown, unknown>,
  settings: RuntimeConfig,
  home: string,
): void {
  if (notices === undefined) return
  const config = settings as Config
  validateNoticeSettings(notices, config)
  const { smtp_password_file: password, smtp_ca_file: authorities } = config
  if (password !== undefined) readPasswordFile(inHome(home, password), 'smtp_password_file')
  if (authorities !== undefined) readAuthorities(inHome(home, authorities), 'smtp_ca_file')
}
