import { inHome } from '@warder/base'
import { readAuthorities } from '@warder/server'
import type { NoticeConfig } from '../config/notice-settings.ts'
import { countNotices } from '../notices/notice-store.ts'
import { type NoticeDefinition, validateNoticeSettings } from '../notices/notices.ts'
import { createMailer, createWebhook, type NoticeReceiver, readSmtpPassword } from '../notices/receivers.ts'
import { isNoticeDue, sendDueNotices } from '../notices/sender.ts'
import type { RuntimeConfig } from './launch.ts'
import type { PeriodicJob } from './periodic.ts'
import type { ServiceDefinition, ServiceEnvironment } from './service.ts'

type Config = RuntimeConfig & NoticeConfig
type Environment = Pick<ServiceEnvironment<unknown>, 'config' | 'home' | 'outbound' | 'clock' | 'node'>

const sendEverySeconds = 2

/** The receivers that the settings name. */
export function createReceivers(
  name: string,
  definition: NoticeDefinition<Config>,
  environment: Environment,
): readonly NoticeReceiver[] {
  const config = environment.config as Config
  const { home, node, outbound, clock } = environment
  const found: NoticeReceiver[] = []
  const webhook = definition.webhook(config)
  if (webhook !== undefined) found.push(createWebhook({ ...webhook, outbound, clock }))
  if (config.smtp_host !== undefined) found.push(createMailer({ config, home, service: name, node, clock }))
  return found
}

/** Sends what waits, in the node that has the lease. */
export function createNoticeJobs(
  { name, notices }: ServiceDefinition<unknown, unknown>,
  environment: ServiceEnvironment<unknown>,
): readonly PeriodicJob[] {
  const { db, clock, log, metrics } = environment
  const receivers = notices === undefined ? [] : createReceivers(name, notices, environment)
  if (notices === undefined || receivers.length === 0) return []
  metrics.collected('notices_waiting', {
    type: 'gauge',
    help: 'Notices that wait for a receiver, or collect repeats after they were sent.',
    read: () => countNotices(db),
  })
  return [
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
  if (password !== undefined) readSmtpPassword(inHome(home, password))
  if (authorities !== undefined) readAuthorities(inHome(home, authorities), 'smtp_ca_file')
}
