import { type Change, type Commit, change, type Database, query } from '@warder/storage'
import { removeInBatches } from '../sweep.ts'

/**
 * Kinds of entries of the revocation feed.
 * - `session`: `subject` is the session id; kept until its token expires.
 * - `logins`: all remembered logins of a user; `username` and `realm`.
 * - `realm`: all remembered logins of `realm`.
 * - `person`: a user was removed; `subject` is the subject id, empty when the user never logged in.
 * - `machine`: tokens of the entity `subject`.
 * - `credential`: an administrator has set or removed a credential of a user; `username` and `realm`. Another person
 *   may vote on approvals under this name from then on.
 * - `credentials`: an administrator has changed an identity provider or the certificates of `realm`, which may affect
 *   every user of it.
 * - `role`: the role of the entity `subject` was deleted together with its tokens.
 */
type RevocationKind =
  | 'session'
  | 'logins'
  | 'realm'
  | 'person'
  | 'machine'
  | 'role'
  | 'credential'
  | 'credentials'

/** Reasons of a revocation, for users and logs. */
export type RevocationReason =
  | 'logged_out'
  | 'password_changed'
  | 'deleted'
  | 'released'
  | 'reassigned'
  | 'provider_removed'
  | 'realm_ended'
  | 'realm_deleted'
  | 'revoked'
  | 'role_deleted'
  | 'credential_set'

/** An entry of the feed. Times are Unix seconds. */
interface RevocationEntry {
  readonly seq: number
  readonly kind: RevocationKind
  readonly subject: string
  readonly realm: string
  readonly username: string
  readonly endedAt: number
  /** Expiry that the revoked item would have had anyway. The entry may be deleted some time after it. */
  readonly untilAt: number
  readonly reason: string
}

/** Sessions of the kms's web page last 24 hours (kms specification §8). */
export const loginRetentionSeconds = 86_400
/** Subscribers cache the validity of machine tokens for at most 300 s. */
export const machineRetentionSeconds = 3600
/** Requests for approval and votes on them are valid for at most a year. */
const voteRetentionSeconds = 400 * 86_400
/** Client certificates may be valid for years. */
export const personRetentionSeconds = 10 * 365 * 86_400

/** Topic that announces new entries to the nodes of an installation. */
export const feedTopic = 'ended'

const takeHead = query<[], unknown>('UPDATE ended_head SET seq = seq WHERE id = 1')
const moveHead = query<[], unknown>(
  `UPDATE ended_head SET seq = (SELECT MAX(e.seq) FROM ended e WHERE e.seq >= ended_head.seq)
     WHERE id = 1 AND EXISTS (SELECT 1 FROM ended e WHERE e.seq > ended_head.seq)`,
)
const head = query<[], { readonly seq: number }>('SELECT seq FROM ended_head WHERE id = 1')
const append = query<
  [kind: string, subject: string, realm: string, username: string, at: number, until: number, reason: string],
  unknown
>(
  `INSERT INTO ended (seq, kind, subject, realm_id, username, ended_at, until_at, reason)
     SELECT seq + 1, ?, ?, ?, ?, ?, ?, ? FROM ended_head WHERE id = 1`,
)
/** The columns of session entries, of which there may be a million. */
const pageAfter = query<[after: number, limit: number], Row>(
  'SELECT seq, kind, subject, until_at FROM ended WHERE seq > ? ORDER BY seq LIMIT ?',
)
/** Details of all other entries. */
const detailsBetween = query<[after: number, last: number], Details>(
  `SELECT seq, realm_id, username, ended_at, reason FROM ended
     WHERE seq > ? AND seq <= ? AND kind <> 'session'`,
)
const sweep = query<[now: number, limit: number], unknown>(
  'DELETE FROM ended WHERE seq IN (SELECT seq FROM ended WHERE until_at <= ? LIMIT ?)',
)

interface Row {
  readonly seq: number
  readonly kind: string
  readonly subject: string
  readonly until_at: number
}

interface Details {
  readonly seq: number
  readonly realm_id: string
  readonly username: string
  readonly ended_at: number
  readonly reason: string
}

/**
 * Appends to the feed within a commit. Every group of appends locks the head of the feed from its first statement to
 * the end of the commit. The numbers are therefore in the order in which commits become visible: a reader that has
 * seen a number has seen every smaller one.
 * @param entries statements that append one entry each
 */
export function appendToFeed(db: Database, ...entries: readonly Change[]): readonly Change[] {
  const numbered = entries.flatMap((entry) => [entry, change(moveHead, [])])
  // Without an announcement there must be no statement: results are assigned to statements by index.
  const announced = db.dialect === 'postgresql' ? [db.changed(feedTopic, 'head')] : []
  return [change(takeHead, []), ...numbered, ...announced]
}

/** The statement that appends one entry. */
export function entryChange(entry: Omit<RevocationEntry, 'seq'>): Change {
  const { kind, subject, realm, username, endedAt, untilAt, reason } = entry
  return change(append, [kind, subject, realm, username, endedAt, untilAt, reason])
}

/**
 * Announces to the subscribers that an administrator has set or removed a credential of a user. @param at Unix
 * seconds
 */
export function announceCredential(
  db: Database,
  realm: string,
  username: string,
  at: number,
): readonly Change[] {
  const about = { kind: 'credential', subject: '', realm, username, reason: 'credential_set' } as const
  return appendToFeed(db, entryChange({ ...about, endedAt: at, untilAt: at + voteRetentionSeconds }))
}

/**
 * Announces to the subscribers that an administrator has changed the identity providers or certificates of a realm.
 * @param at Unix seconds
 */
export function announceRealmCredentials(db: Database, realm: string, at: number): readonly Change[] {
  const about = { kind: 'credentials', subject: '', realm, username: '', reason: 'credential_set' } as const
  return appendToFeed(db, entryChange({ ...about, endedAt: at, untilAt: at + voteRetentionSeconds }))
}

/** Number of the last entry; 0 = the feed is empty. */
export async function readFeedHead(db: Database): Promise<number> {
  return (await db.get(head, []))?.seq ?? 0
}

/**
 * An entry as it is sent: `[seq, kind, subject, until]`, followed by `at, realm, username, reason` except for
 * sessions.
 */
export type FeedEntry = readonly [
  seq: number,
  kind: string,
  subject: string,
  until: number,
  ...more: (string | number)[],
]

/** Entries after a number, in order, at most `limit`. */
export async function readFeedAfter(
  db: Database,
  after: number,
  limit: number,
): Promise<readonly FeedEntry[]> {
  const rows = await db.all(pageAfter, [after, limit])
  const hasOthers = rows.some(({ kind }) => kind !== 'session')
  const details = hasOthers ? await db.all(detailsBetween, [after, rows.at(-1)?.seq ?? after]) : []
  const bySeq = new Map(details.map((row) => [row.seq, row]))
  const entries: FeedEntry[] = []
  for (const { seq, kind, subject, until_at } of rows) {
    const more = bySeq.get(seq)
    if (kind === 'session') entries.push([seq, kind, subject, until_at])
    // An entry swept between the two statements is omitted: its subject has expired long ago.
    else if (more !== undefined)
      entries.push([seq, kind, subject, until_at, more.ended_at, more.realm_id, more.username, more.reason])
  }
  return entries
}

/**
 * Entries are kept longer than their subjects: the clocks of services differ, and tokens are accepted for a minute
 * after they expire.
 */
const sweptAfterSeconds = 600

/** Deletes entries whose subjects have expired. @returns how many */
export function sweepFeed(commit: Commit, now: number): Promise<number> {
  return removeInBatches(commit, (limit) => [change(sweep, [now - sweptAfterSeconds, limit])])
}
