import { type Change, change, type Database, type Migration, query } from '@warder/storage'
import type { NoticeSink } from '../config/notice-settings.ts'

/** Waiting notices, one row for each receiver, and facts that were announced once. */
export const noticeMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'notices that wait for a receiver',
    older: true,
    statements: [
      `CREATE TABLE notice (
        id TEXT NOT NULL, sink TEXT NOT NULL, subject TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
        made_at BIGINT NOT NULL, next_at BIGINT NOT NULL, tries BIGINT NOT NULL, repeats BIGINT NOT NULL,
        is_sent BIGINT NOT NULL, PRIMARY KEY (id, sink))`,
      'CREATE UNIQUE INDEX notice_by_subject ON notice (sink, subject)',
      'CREATE INDEX notice_by_time ON notice (sink, next_at)',
      `CREATE TABLE notice_mark (
        subject TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL, until_ms BIGINT NOT NULL)`,
    ],
  },
]

/** A notice in the spool. */
export interface SpooledNotice {
  readonly id: string
  readonly sink: NoticeSink
  /** Of the notices that are one row; equal to the first `id` of a row that collects no others. */
  readonly subject: string
  readonly event: string
  /** JSON. */
  readonly body: string
  /** Unix milliseconds of the event, or of the last success of a notice that was repeated since. */
  readonly made_at: number
  readonly tries: number
  /** Equal events since it was made, or sent. */
  readonly repeats: number
  /** 1: it was sent, and collects equal events until `next_at`. */
  readonly is_sent: 0 | 1
}

interface NewNotice {
  readonly id: string
  readonly sink: NoticeSink
  /** Notices of one subject are one row. */
  readonly subject: string
  readonly event: string
  readonly body: string
  readonly now: number
}

const insert = query<
  [
    ...[id: string, sink: string, subject: string, event: string, body: string],
    ...[madeAt: number, nextAt: number, maxRows: number],
  ],
  unknown
>(
  `INSERT INTO notice (id, sink, subject, event, body, made_at, next_at, tries, repeats, is_sent)
     SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
       CAST(? AS BIGINT), CAST(? AS BIGINT), 0, 0, 0
     WHERE (SELECT COUNT(*) FROM notice) < CAST(? AS BIGINT)
     ON CONFLICT (sink, subject) DO UPDATE SET repeats = notice.repeats + 1, body = excluded.body`,
)

/** Touches no row if `maxRows` notices wait. */
export function insertNotice({ id, sink, subject, event, body, now }: NewNotice, maxRows: number): Change {
  return change(insert, [id, sink, subject, event, body, now, now, maxRows])
}

const due = query<[sink: string, now: number, latest: number, limit: number], SpooledNotice>(
  `SELECT id, sink, subject, event, body, made_at, tries, repeats, is_sent FROM notice
     WHERE sink = ? AND (next_at <= ? OR next_at > ?) ORDER BY next_at LIMIT ?`,
)

/**
 * Notices to be sent now, or for whose repeats the time has come.
 * @param latest a clock was ahead for those that wait even longer: they are due
 */
export async function listDueNotices(
  db: Database,
  sink: NoticeSink,
  { now, latest, limit }: { readonly now: number; readonly latest: number; readonly limit: number },
): Promise<readonly SpooledNotice[]> {
  return db.all(due, [sink, now, latest, limit])
}

const claim = query<[next: number, id: string, sink: string, tries: number], unknown>(
  'UPDATE notice SET tries = tries + 1, next_at = ? WHERE id = ? AND sink = ? AND tries = ?',
)

/** Takes a notice for one attempt; of two nodes one gets it. @param until the others leave it alone until then */
export function claimNotice({ id, sink, tries }: SpooledNotice, until: number): Change {
  return change(claim, [until, id, sink, tries], 1)
}

const postpone = query<[next: number, id: string, sink: string, tries: number], unknown>(
  'UPDATE notice SET next_at = ? WHERE id = ? AND sink = ? AND tries = ?',
)

/** After a failed attempt, which raised `tries` by one. */
export function postponeNotice({ id, sink, tries }: SpooledNotice, next: number): Change {
  return change(postpone, [next, id, sink, tries + 1])
}

const remove = query<[id: string, sink: string], unknown>('DELETE FROM notice WHERE id = ? AND sink = ?')

export function removeNotice({ id, sink }: Pick<SpooledNotice, 'id' | 'sink'>): Change {
  return change(remove, [id, sink])
}

const keep = query<
  [id: string, madeAt: number, next: number, sent: number, oldId: string, sink: string],
  unknown
>(
  `UPDATE notice SET id = ?, made_at = ?, next_at = ?, tries = 0, repeats = repeats - ?, is_sent = 1
     WHERE id = ? AND sink = ?`,
)

/** After it was sent: the row collects equal events under another id until `next`. */
export function keepNotice(
  { id, sink, repeats }: SpooledNotice,
  to: { readonly id: string; readonly now: number; readonly next: number },
): Change {
  return change(keep, [to.id, to.now, to.next, repeats, id, sink])
}

const removeQuiet = query<[id: string, sink: string], unknown>(
  'DELETE FROM notice WHERE id = ? AND sink = ? AND is_sent = 1 AND repeats = 0',
)

/** Nothing was repeated. */
export function removeQuietNotice({ id, sink }: SpooledNotice): Change {
  return change(removeQuiet, [id, sink])
}

const removeOld = query<[before: number], unknown>('DELETE FROM notice WHERE made_at < ?')
const removeMarks = query<[before: number], unknown>('DELETE FROM notice_mark WHERE until_ms < ?')

/** Of receivers that the settings do not name any more, and marks that have ended. */
export function sweepNotices(before: number, now: number): readonly Change[] {
  return [change(removeOld, [before]), change(removeMarks, [now])]
}

const count = query<[], { readonly waiting: number }>('SELECT COUNT(*) AS waiting FROM notice')

export async function countNotices(db: Database): Promise<number> {
  return Number((await db.get(count, []))?.waiting ?? 0)
}

const mark = query<[subject: string, value: number, until: number, below: number, above: number], unknown>(
  `INSERT INTO notice_mark (subject, value, until_ms) VALUES (?, ?, ?)
     ON CONFLICT (subject) DO UPDATE SET value = excluded.value, until_ms = excluded.until_ms
     WHERE notice_mark.value <= ? OR notice_mark.value > ?`,
)

/**
 * Remembers a value, once over all nodes: the commit fails if the value that is there is neither at most `below` nor
 * more than `above`.
 */
export function raiseMark(
  subject: string,
  { value, until, below, above }: Readonly<Record<'value' | 'until' | 'below' | 'above', number>>,
): Change {
  return change(mark, [subject, value, until, below, above], 1)
}

const findMark = query<[subject: string], { readonly value: number }>(
  'SELECT value FROM notice_mark WHERE subject = ?',
)

export async function readMark(db: Database, subject: string): Promise<number | undefined> {
  const found = await db.get(findMark, [subject])
  return found === undefined ? undefined : Number(found.value)
}
