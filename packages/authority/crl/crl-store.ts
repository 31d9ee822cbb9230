import { type Change, change, type Database, query } from '@warder/storage'
import { type RevocationConfig, responderValidityMs } from '../register/settings.ts'

/** Topic of `Database.changed` for revocation lists, with the identifiers of their authorities. */
export const crlTopic = 'pki_crl'

/** A stored revocation list. Times in Unix milliseconds. */
export interface StoredCrl {
  readonly number: number
  readonly thisUpdate: number
  readonly nextUpdate: number
  readonly etag: string
  readonly der: Uint8Array
}

interface Row {
  readonly number: number
  readonly this_update: number
  readonly next_update: number
  readonly etag: string
  readonly der: Uint8Array
}

const ofAuthority = query<[authority: string], Row>(
  `SELECT c.number, c.this_update, c.next_update, c.etag, c.der
     FROM pki_authority a JOIN pki_crl c ON c.issuer = a.issuer WHERE a.certificate_id = ?`,
)
/** For a cache by the identifier of an authority: the number of a list only increases. */
export const crlVersion = query<[authority: string], { readonly version: number }>(
  `SELECT c.number AS version FROM pki_authority a JOIN pki_crl c ON c.issuer = a.issuer WHERE a.certificate_id = ?`,
)
const place = query<
  [issuer: string],
  { readonly crl_number: number; readonly number: number | null; readonly this_update: number | null }
>(
  `SELECT i.crl_number, c.number, c.this_update
     FROM pki_issuer i LEFT JOIN pki_crl c ON c.issuer = i.id WHERE i.id = ?`,
)
type DueQuery = [than: number, limit: number]
/** Two queries, each one index range: CRLs that are due, and CRLs dated too far ahead by a node with a fast clock. */
const crlDue = {
  now: query<DueQuery, { readonly id: string }>(
    'SELECT id FROM pki_issuer WHERE crl_due_at <= ? ORDER BY crl_due_at LIMIT ?',
  ),
  ahead: query<DueQuery, { readonly id: string }>(
    'SELECT id FROM pki_issuer WHERE crl_due_at > ? ORDER BY crl_due_at LIMIT ?',
  ),
}
const responderDue = {
  now: query<DueQuery, { readonly id: string }>(
    'SELECT id FROM pki_issuer WHERE responder_due_at <= ? ORDER BY responder_due_at LIMIT ?',
  ),
  ahead: query<DueQuery, { readonly id: string }>(
    'SELECT id FROM pki_issuer WHERE responder_due_at > ? ORDER BY responder_due_at LIMIT ?',
  ),
}
/** Returns a page as one row, from a covering index: a hundred thousand rows would be as many objects. */
const listed = query<
  [skipped: number, issuer: string, after: string, last: number, last2: number, limit: number],
  { readonly entries: number; readonly end: string | null; readonly packed: string | null }
>(
  `SELECT COUNT(*) AS entries, MAX(id) AS end,
       string_agg(substr(id, ?) || ' ' || CAST(revoked_at AS TEXT) || ' ' || COALESCE(reason, '') || ' '
         || COALESCE(CAST(invalidity_at AS TEXT), ''), ',') AS packed
     FROM (SELECT id, revoked_at, reason, invalidity_at FROM pki_issued
       WHERE issuer = ? AND revoked_at IS NOT NULL AND id > ? AND (not_after >= ? OR changed_at >= ?)
       ORDER BY issuer, id LIMIT ?) AS page`,
)
const store = query<
  [issuer: string, number: number, thisUpdate: number, nextUpdate: number, etag: string, der: Uint8Array],
  unknown
>(
  `INSERT INTO pki_crl (issuer, number, this_update, next_update, etag, der) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (issuer) DO UPDATE SET number = excluded.number, this_update = excluded.this_update,
       next_update = excluded.next_update, etag = excluded.etag, der = excluded.der
     WHERE pki_crl.number < excluded.number`,
)
const signed = query<
  [number: number, number2: number, number3: number, dueAt: number, issuer: string],
  unknown
>(
  `UPDATE pki_issuer SET crl_number = CASE WHEN crl_number < ? THEN ? ELSE crl_number END,
     crl_due_at = CASE WHEN crl_number > ? THEN crl_due_at ELSE ? END WHERE id = ?`,
)
const postpone = query<[number, number, number, number, issuer: string], unknown>(
  `UPDATE pki_issuer SET crl_due_at = CASE WHEN crl_due_at < ? THEN ? ELSE crl_due_at END,
     responder_due_at = CASE WHEN responder_due_at < ? THEN ? ELSE responder_due_at END WHERE id = ?`,
)

const postponeCrl = query<[until: number, issuer: string], unknown>(
  'UPDATE pki_issuer SET crl_due_at = ? WHERE id = ?',
)

/** An issuer with a CRL or a responder certificate to sign. */
export interface DueIssuer {
  readonly id: string
  readonly crl: boolean
  readonly responder: boolean
}

export async function crlOfAuthority(db: Database, authorityId: string): Promise<StoredCrl | undefined> {
  const row = await db.get(ofAuthority, [authorityId])
  if (row === undefined) return undefined
  const { number, this_update: thisUpdate, next_update: nextUpdate, etag, der } = row
  return { number, thisUpdate, nextUpdate, etag, der }
}

/** Allowed difference between the clocks of nodes. */
const toleranceMs = 60_000

/**
 * Issuers whose CRL or responder certificate is to be signed now, at most twice `limit` of each: those that are due,
 * and those dated too far ahead by a node with a fast clock, which clients do not accept yet.
 */
export async function dueIssuers(
  db: Database,
  { crlValidityMs, crlOverlapMs }: Pick<RevocationConfig, 'crlValidityMs' | 'crlOverlapMs'>,
  now: number,
  limit: number,
): Promise<readonly DueIssuer[]> {
  const latest = {
    crl: now + crlValidityMs - crlOverlapMs + toleranceMs,
    responder: now + responderValidityMs / 2 + toleranceMs,
  }
  const listIds = async (due: typeof crlDue, ahead: number): Promise<ReadonlySet<string>> => {
    const rows = [await db.all(due.now, [now, limit]), await db.all(due.ahead, [ahead, limit])].flat()
    return new Set(rows.map(({ id }) => id))
  }
  const crls = await listIds(crlDue, latest.crl)
  const responders = await listIds(responderDue, latest.responder)
  return [...crls.union(responders)].map((id) => ({ id, crl: crls.has(id), responder: responders.has(id) }))
}

/** The CRL numbers of an issuer: that of the latest revocation, and that of the list which was signed last. */
export async function crlPlace(db: Database, issuer: string) {
  const row = await db.get(place, [issuer])
  if (row === undefined) return undefined
  return {
    wanted: row.crl_number,
    last: row.number === null ? undefined : { number: row.number, thisUpdate: row.this_update ?? 0 },
  }
}

/**
 * Entries in one string, which is cheap to read and to transfer to another thread. Commas separate entries; spaces
 * separate their members: serial number in hexadecimal, time of the revocation, reason, invalidity date.
 */
export type PackedEntries = string

/**
 * Certificates that are revoked or on hold, except those that expired before the last list, which contained
 * them for the last time (RFC 5280 §3.3).
 * @param after register identifier after which the page begins
 * @param last thisUpdate of the list before
 */
export async function readRevokedPage(
  db: Database,
  issuer: string,
  { after, last, limit }: { readonly after: string; readonly last: number; readonly limit: number },
): Promise<{ readonly count: number; readonly packed: PackedEntries; readonly next: string | undefined }> {
  const row = await db.get(listed, [issuer.length + 2, issuer, after, last, last, limit])
  const { entries: count = 0, end = null, packed = null } = row ?? {}
  return { count, packed: packed ?? '', next: count < limit ? undefined : (end ?? undefined) }
}

/**
 * Changes that replace the previous list by a new one; guarded, so that of two nodes that signed a list only one
 * commits.
 * @param dueAt when the next one is to be signed, unless something was revoked meanwhile
 */
export function crlChanges(
  db: Database,
  issuer: string,
  crl: StoredCrl,
  dueAt: number,
  authorities: readonly string[],
): Change[] {
  const { number, thisUpdate, nextUpdate, etag, der } = crl
  return [
    change(store, [issuer, number, thisUpdate, nextUpdate, etag, der], 1),
    change(signed, [number, number, number, dueAt, issuer], 1),
    ...authorities.map((id) => db.changed(crlTopic, id)),
  ]
}

/** Schedules a new attempt at `until` for a list that cannot be signed now. */
export function postponeChange(issuer: string, until: number): Change {
  return change(postpone, [until, until, until, until, issuer], 1)
}

/** Schedules the next check of whether the issuer may sign a list. */
export function crlDueChange(issuer: string, at: number): Change {
  return change(postponeCrl, [at, issuer], 1)
}
