import { randomUUID } from 'node:crypto'
import { type Clock, type Logger, type Metrics, StartupError } from '@warder/base'
import type { Change, Database } from '@warder/storage'
import {
  commonNoticeKinds,
  type NoticeConfig,
  type NoticeSink,
  readNoticeRoute,
} from '../config/notice-settings.ts'
import { insertNotice } from './notice-store.ts'

export type NoticeSeverity = 'info' | 'warning' | 'critical'

/** An event that is announced. */
export interface NoticeEvent {
  /** The kind by which `notices` names its receivers. */
  readonly kind: string
  readonly severity: NoticeSeverity
  /** Subject of the e-mail. */
  readonly text: string
  /** true: sent to the webhook unless `notices` names other receivers. */
  readonly byDefault?: true
}

export type NoticeEvents = Readonly<Record<string, NoticeEvent>>

export interface WebhookAddress {
  /** https. */
  readonly url: string
  /** The receiver verifies signatures with it. */
  readonly secret: string
}

/** Notices of a service. */
export interface NoticeDefinition<Config> {
  readonly events: NoticeEvents
  /** undefined = none is configured. */
  webhook(config: Config): WebhookAddress | undefined
  /** The settings of its webhook, for messages. */
  readonly webhookSettings: string
}

/** Events of every service. */
export const commonNoticeEvents: NoticeEvents = {
  'audit.broken': { kind: 'audit.broken', severity: 'critical', text: 'the audit log is damaged' },
  'backup.old': { kind: 'backup.old', severity: 'warning', text: 'the last backup is too old' },
  'notices.test': { kind: 'notices.test', severity: 'info', text: 'this is a test' },
}

/** Announces events of the service to the receivers of the settings. */
export interface Notices {
  /** Stores the notice; it is sent within seconds. Never throws: a notice that cannot be stored is logged and counted. */
  tell(event: string, about: object, more?: NoticeMore): Promise<void>
  /** The same as part of a commit of the caller, so that neither is without the other. */
  stage(event: string, about: object, more?: NoticeMore): readonly Change[]
  /** Whether the settings name a receiver of the event. */
  announces(event: string): boolean
}

export interface NoticeMore {
  /**
   * Events of one kind about this object are one notice in ten minutes, with their number; undefined: each event is
   * a notice.
   */
  readonly object?: string
}

/** Waiting notices, those that collect repeats included; more are dropped, with a line in the log. */
const maxWaiting = 1000
/** Critical ones still find room when others have filled it. */
const maxWaitingCritical = 1100
/** A larger notice is sent without its members that are not plain values. */
const maxBodyBytes = 262_144

export interface NoticeOptions<Config> {
  readonly definition: NoticeDefinition<Config>
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** @returns undefined if no receiver is configured */
export function createNotices<Config extends NoticeConfig>(
  options: NoticeOptions<Config>,
): Notices | undefined {
  const { definition, config, db, clock, log, metrics } = options
  if (configuredSinks(definition, config).length === 0) return undefined
  const routes = routeEvents(definition, config)

  function stage(event: string, about: object, { object }: NoticeMore = {}): readonly Change[] {
    const now = clock.now()
    const id = randomUUID()
    const { sinks, severity } = routes.get(event) ?? { sinks: [], severity: 'info' }
    const body = formatBody(event, now, about)
    const subject =
      object === undefined ? id : `${event} ${JSON.stringify(object)}`.slice(0, 1024).toWellFormed()
    const room = severity === 'critical' ? maxWaitingCritical : maxWaiting
    return sinks.map((sink) => insertNotice({ id, sink, subject, event, body, now }, room))
  }

  return {
    stage,
    announces: (event) => (routes.get(event)?.sinks.length ?? 0) > 0,
    async tell(event, about, more) {
      const dropped = (fields: Readonly<Record<string, unknown>>, why: string): void => {
        log.warn(
          { event, ...fields },
          `a notification was dropped because ${why}; the audit log contains its content`,
        )
        for (const sink of routes.get(event)?.sinks ?? [])
          metrics.count('notices_total', { sink, outcome: 'dropped' })
      }
      try {
        const changes = stage(event, about, more)
        if (changes.length === 0) return
        const results = await db.commit(changes)
        if (results.some(({ changes: rows }) => rows === 0)) dropped({}, 'too many are waiting')
      } catch (error) {
        dropped({ error }, 'it cannot be stored')
      }
    },
  }
}

function formatBody(event: string, now: number, about: object): string {
  const head = { event, at: new Date(now).toISOString() }
  // JSON.stringify escapes characters that a database would not store: U+0000 and halves of surrogate pairs.
  const body = JSON.stringify({ ...head, ...about })
  if (Buffer.byteLength(body) <= maxBodyBytes) return body
  const plain = Object.entries(about).filter(
    ([, value]) => typeof value !== 'object' && String(value).length < 1024,
  )
  return JSON.stringify({ ...head, ...Object.fromEntries(plain), shortened: true })
}

/** The receivers for which the settings are complete. */
function configuredSinks<Config extends NoticeConfig>(
  { webhook }: NoticeDefinition<Config>,
  config: Config,
): readonly NoticeSink[] {
  const found: NoticeSink[] = []
  if (webhook(config) !== undefined) found.push('webhook')
  if (config.smtp_host !== undefined) found.push('email')
  return found
}

interface Route {
  readonly sinks: readonly NoticeSink[]
  readonly severity: NoticeSeverity
}

/** Receivers of each event by the settings, as far as they are configured. */
function routeEvents<Config extends NoticeConfig>(
  definition: NoticeDefinition<Config>,
  config: Config,
): ReadonlyMap<string, Route> {
  const sinks = configuredSinks(definition, config)
  const named = readRoutes(definition, config)
  const events = { ...definition.events, ...commonNoticeEvents }
  return new Map(
    Object.entries(events).map(([event, { kind, severity, byDefault }]) => {
      const wanted = named.get(kind) ?? named.get('*') ?? (byDefault ? ['webhook' as const] : [])
      return [event, { severity, sinks: wanted.filter((sink) => sinks.includes(sink)) }]
    }),
  )
}

function readRoutes<Config extends NoticeConfig>(
  { events }: NoticeDefinition<Config>,
  { notices }: Pick<NoticeConfig, 'notices'>,
): ReadonlyMap<string, readonly NoticeSink[]> {
  const kinds = [...Object.values(events).map(({ kind }) => kind), ...commonNoticeKinds]
  const routes = notices.map((text) => readNoticeRoute(text, kinds))
  return new Map(routes.filter((route) => typeof route !== 'string').map(({ kind, sinks }) => [kind, sinks]))
}

const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost']

export function isLoopback(host: string): boolean {
  return loopback.includes(host.toLowerCase())
}

/** @throws StartupError for settings of notices that contradict each other */
export function validateNoticeSettings<Config extends NoticeConfig>(
  definition: NoticeDefinition<Config>,
  config: Config,
): void {
  const { smtp_host: host, smtp_tls: tls, smtp_username: name, smtp_password_file: file } = config
  if (host !== undefined && (config.notice_from === undefined || config.notice_to.length === 0))
    throw new StartupError('smtp_host requires notice_from and notice_to')
  if (host === undefined && (config.notice_from !== undefined || config.notice_to.length > 0))
    throw new StartupError('notice_from and notice_to require smtp_host')
  if (host !== undefined && tls === 'none' && !isLoopback(host))
    throw new StartupError(
      `smtp_tls = "none" is permitted only if smtp_host is ${loopback.join(', ')}: ${host} would receive notices without encryption`,
    )
  if ((name === undefined) !== (file === undefined))
    throw new StartupError('smtp requires both smtp_username and smtp_password_file, or neither')
  const sinks = configuredSinks(definition, config)
  for (const [kind, wanted] of readRoutes(definition, config))
    for (const sink of wanted)
      if (!sinks.includes(sink))
        throw new StartupError(
          `notices sends ${kind} by ${sink}, which is not configured: set ${sink === 'email' ? 'smtp_host' : definition.webhookSettings}`,
        )
}
