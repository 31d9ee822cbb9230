import { randomUUID } from 'node:crypto'
import type { Clock, Logger, Metrics } from '@warder/base'
import { type Change, type Database, GuardFailed } from '@warder/storage'
import type { OutgoingNotice } from './mail-text.ts'
import {
  claimNotice,
  keepNotice,
  listDueNotices,
  postponeNotice,
  raiseMark,
  readMark,
  removeNotice,
  removeQuietNotice,
  type SpooledNotice,
  sweepNotices,
} from './notice-store.ts'
import { commonNoticeEvents, type NoticeEvents } from './notices.ts'
import { NotDelivered, type NoticeReceiver } from './receivers.ts'

/** Time before each further attempt; the last one repeats. */
const waitsMs = [1000, 10_000, 60_000, 300_000, 900_000, 3_600_000]
/** A notice that no attempt delivered within this time is given up. */
export const giveUpMs = 86_400_000
/** Events about one object within this time are one further notice. */
export const quietMs = 600_000
/** At most one mail in this time, which contains every notice that waits. */
export const mailEveryMs = 60_000
/** A claimed notice is reserved for longer than an attempt takes; after a kill it is sent when that time is over. */
const claimMs = 45_000
/** One run claims no further notices after this time. */
const runMs = 30_000
const together = 4

export interface SendOptions {
  readonly events: NoticeEvents
  readonly receivers: readonly NoticeReceiver[]
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** Whether `sendDueNotices` has anything to do: one index entry for each receiver. */
export async function isNoticeDue(
  db: Database,
  receivers: readonly NoticeReceiver[],
  now: number,
): Promise<boolean> {
  for (const { sink } of receivers)
    if (
      (await listDueNotices(db, sink, { ...range(now), limit: 1 })).length > 0 &&
      (await mayMail(db, sink, now))
    )
      return true
  return false
}

function range(now: number): { readonly now: number; readonly latest: number } {
  return { now, latest: now + Math.max(giveUpMs, ...waitsMs) }
}

/**
 * Sends the notices that are due, each receiver by itself. A notice is claimed before each attempt, so that of two nodes
 * one sends it. It can arrive twice, with the same id, if a process ends between the reply of the receiver and its commit.
 */
export async function sendDueNotices(options: SendOptions): Promise<void> {
  const { db, clock, receivers } = options
  await Promise.all(receivers.map((receiver) => sendTo(receiver, options)))
  const now = clock.now()
  await db.commit(sweepNotices(now - 2 * giveUpMs, now))
}

async function sendTo(receiver: NoticeReceiver, options: SendOptions): Promise<void> {
  const { db, clock } = options
  const until = clock.monotonic() + runMs
  const limit = receiver.maxTogether === 1 ? together : receiver.maxTogether
  while (clock.monotonic() < until) {
    const now = clock.now()
    if (!(await mayMail(db, receiver.sink, now))) return
    const found = await listDueNotices(db, receiver.sink, { ...range(now), limit })
    const quiet = found.filter((one) => isQuiet(one))
    if (quiet.length > 0) await db.commit(quiet.map(removeQuietNotice))
    const waiting = found.filter((one) => !isQuiet(one))
    if (waiting.length > 0 && !(await sendSome(receiver, waiting, options))) return
    if (found.length < limit) return
  }
}

/** Sent, and not repeated since. */
function isQuiet({ is_sent, repeats }: SpooledNotice): boolean {
  return Number(is_sent) === 1 && Number(repeats) === 0
}

const mailMark = 'last mail'

async function mayMail(db: Database, sink: string, now: number): Promise<boolean> {
  if (sink !== 'email') return true
  const last = await readMark(db, mailMark)
  // A mark of the future is that of a clock that was ahead.
  return last === undefined || last <= now - mailEveryMs || last > now
}

/** @returns whether all of them were delivered */
async function sendSome(
  receiver: NoticeReceiver,
  waiting: readonly SpooledNotice[],
  options: SendOptions,
): Promise<boolean> {
  if (receiver.maxTogether > 1) return sendTogether(receiver, waiting, options)
  const delivered = await Promise.all(waiting.map((one) => sendTogether(receiver, [one], options)))
  return delivered.every(Boolean)
}

async function sendTogether(
  receiver: NoticeReceiver,
  notices: readonly SpooledNotice[],
  options: SendOptions,
): Promise<boolean> {
  const { db, clock, log, metrics, events } = options
  const { sink } = receiver
  if (!(await claim(receiver, notices, options))) return false
  try {
    const reply = await receiver.deliver(notices.map((one) => toOutgoing(one, events)))
    log.debug({ sink, notices: notices.length, reply }, 'notifications were sent')
  } catch (error) {
    const detail = error instanceof NotDelivered ? error.message : String(error)
    const now = clock.now()
    log.info({ sink, notices: notices.length, detail }, 'a notification could not be sent')
    metrics.count('notices_total', { sink, outcome: 'failed' }, notices.length)
    await db.commit(notices.map((one) => afterFailure(one, now, options)))
    return false
  }
  metrics.count('notices_total', { sink, outcome: 'sent' }, notices.length)
  await db.commit(notices.map((one) => afterSuccess(one, clock.now())))
  return true
}

/** @returns false: another node has one of them, or sent a mail */
async function claim(
  { sink }: NoticeReceiver,
  notices: readonly SpooledNotice[],
  { db, clock }: SendOptions,
): Promise<boolean> {
  const now = clock.now()
  const mark =
    sink === 'email'
      ? [raiseMark(mailMark, { value: now, until: now + giveUpMs, below: now - mailEveryMs, above: now })]
      : []
  try {
    await db.commit([...mark, ...notices.map((one) => claimNotice(one, now + claimMs))])
    return true
  } catch (error) {
    if (error instanceof GuardFailed) return false
    throw error
  }
}

function toOutgoing(
  { id, event, body, is_sent, repeats }: SpooledNotice,
  events: NoticeEvents,
): OutgoingNotice {
  const { severity = 'info', text = event } = { ...commonNoticeEvents, ...events }[event] ?? {}
  // Of a notice that was not sent yet the event itself counts, too.
  const times = Number(repeats) + (Number(is_sent) === 1 ? 0 : 1)
  if (times === 1) return { id, event, severity, text, body }
  return { id, event, severity, text, body: JSON.stringify({ ...(JSON.parse(body) as object), times }) }
}

/** Notices about an object stay to collect repeats; the others are removed. */
function afterSuccess(notice: SpooledNotice, now: number): Change {
  return notice.subject !== notice.id
    ? keepNotice(notice, { id: randomUUID(), now, next: now + quietMs })
    : removeNotice(notice)
}

function afterFailure(notice: SpooledNotice, now: number, { log, metrics }: SendOptions): Change {
  const { id, sink, event, tries, made_at: madeAt } = notice
  if (now - Number(madeAt) < giveUpMs) {
    const wait = waitsMs[Math.min(Number(tries), waitsMs.length - 1)] ?? 0
    return postponeNotice(notice, now + wait)
  }
  log.warn({ sink, event, notice: id }, 'a notification was abandoned; the audit log contains its content')
  metrics.count('notices_total', { sink, outcome: 'abandoned' })
  return removeNotice(notice)
}
