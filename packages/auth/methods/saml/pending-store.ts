import { createHash } from 'node:crypto'
import { type Change, type Commit, change, type Database, insertInto, query } from '@warder/storage'
import { removeInBatches } from '../../sweep.ts'

/** The recipient of the session instead of the browser, if it proves the verifier of the challenge. */
export interface Recipient {
  /** BASE64URL(SHA-256(code_verifier)) (RFC 7636 §4.2). */
  readonly challenge: string
  /** Returned unchanged, so that the recipient recognises its own login. */
  readonly state: string
}

/** A pending login or logout at an identity provider. Times are Unix seconds. */
export interface PendingRequest {
  readonly purpose: 'login' | 'logout'
  /** ID of the message, the RelayState, and for a login the value of the cookie. */
  readonly requestId: string
  readonly realm: string
  readonly returnUrl: string
  readonly expiresAt: number
  /** Recipient of the session; undefined = the browser. */
  readonly recipient: Recipient | undefined
}

interface PendingRow {
  readonly return_url: string
  readonly expires_at: number
  readonly code_challenge: string | null
  readonly client_state: string | null
}

const find = query<[requestId: string, realm: string, purpose: string, now: number], PendingRow>(
  `SELECT return_url, expires_at, code_challenge, client_state FROM saml_request
     WHERE request_id = ? AND realm_id = ? AND purpose = ? AND expires_at > ?`,
)
const insert = insertInto<[string, string, string, number, string, string | null, string | null]>(
  'saml_request',
  ['request_id', 'realm_id', 'return_url', 'expires_at', 'purpose', 'code_challenge', 'client_state'],
)
const take = query<[requestId: string, realm: string, now: number], unknown>(
  'DELETE FROM saml_request WHERE request_id = ? AND realm_id = ? AND expires_at > ?',
)
const insertUsed = insertInto<[Uint8Array, number]>('saml_assertion', ['assertion_hash', 'expires_at'])
const removeOldRequests = query<[now: number, limit: number], unknown>(
  'DELETE FROM saml_request WHERE request_id IN (SELECT request_id FROM saml_request WHERE expires_at <= ? LIMIT ?)',
)
const removeOldAssertions = query<[now: number, limit: number], unknown>(
  `DELETE FROM saml_assertion WHERE assertion_hash IN
     (SELECT assertion_hash FROM saml_assertion WHERE expires_at <= ? LIMIT ?)`,
)

/** Finds a pending request of this realm that has not expired. */
export async function findPending(
  db: Database,
  wanted: Pick<PendingRequest, 'purpose' | 'requestId' | 'realm'>,
  now: number,
): Promise<PendingRequest | undefined> {
  const row = await db.get(find, [wanted.requestId, wanted.realm, wanted.purpose, now])
  if (row === undefined) return undefined
  const { code_challenge: challenge, client_state: state } = row
  return {
    ...wanted,
    returnUrl: row.return_url,
    expiresAt: row.expires_at,
    recipient: challenge === null || state === null ? undefined : { challenge, state },
  }
}

export function pendingInsertion(pending: PendingRequest): Change {
  return change(insert, [
    pending.requestId,
    pending.realm,
    pending.returnUrl,
    pending.expiresAt,
    pending.purpose,
    pending.recipient?.challenge ?? null,
    pending.recipient?.state ?? null,
  ])
}

/** Consumes a pending request. A guard: fails when it was consumed before or has expired. */
export function pendingUse({ requestId, realm }: PendingRequest, now: number): Change {
  return change(take, [requestId, realm, now], 1)
}

/** Stores the use of an assertion or another message of a realm; UniqueViolation when it was used before. */
export function messageUse(realm: string, id: string, expiresAt: number): Change {
  const hash = createHash('sha256')
    .update(JSON.stringify([realm, id]))
    .digest()
  return change(insertUsed, [hash, expiresAt])
}

const removeOldSessions = query<[now: number, limit: number], unknown>(
  'DELETE FROM saml_session WHERE session_id IN (SELECT session_id FROM saml_session WHERE ends_at <= ? LIMIT ?)',
)

const removeOldHandovers = query<[now: number, limit: number], unknown>(
  'DELETE FROM saml_handover WHERE code_hash IN (SELECT code_hash FROM saml_handover WHERE expires_at <= ? LIMIT ?)',
)

/** @returns how many rows were deleted */
export function removeExpiredMessages(commit: Commit, now: number): Promise<number> {
  return removeInBatches(commit, (limit) =>
    [removeOldRequests, removeOldAssertions, removeOldSessions, removeOldHandovers].map((statement) =>
      change(statement, [now, limit]),
    ),
  )
}

const realmsOver = query<[perRealm: number], { readonly realm_id: string }>(
  'SELECT realm_id FROM saml_request GROUP BY realm_id HAVING COUNT(*) > ?',
)
const removeBeyondOfRealm = query<[realm: string, sameRealm: string, limit: number], unknown>(
  `DELETE FROM saml_request WHERE realm_id = ? AND expires_at <=
     (SELECT expires_at FROM saml_request WHERE realm_id = ? ORDER BY expires_at DESC LIMIT 1 OFFSET ?)`,
)
const removeBeyond = query<[limit: number], unknown>(
  `DELETE FROM saml_request WHERE expires_at <=
     (SELECT expires_at FROM saml_request ORDER BY expires_at DESC LIMIT 1 OFFSET ?)`,
)

/** Maximum numbers of pending logins. */
interface PendingBounds {
  readonly ofRealm: number
  readonly inAll: number
}

/** Deletes the oldest pending logins beyond the limits: a flood shortens the time in which a login must be finished. */
export async function removeExcessPending(db: Database, { ofRealm, inAll }: PendingBounds): Promise<number> {
  const crowded = await db.all(realmsOver, [ofRealm])
  const results = await db.commit([
    ...crowded.map(({ realm_id: realm }) => change(removeBeyondOfRealm, [realm, realm, ofRealm])),
    change(removeBeyond, [inAll]),
  ])
  return results.reduce((sum, { changes }) => sum + changes, 0)
}

/** Maximum number of pending logins; one takes about 200 bytes, at most 2 KiB. */
export const pendingBounds: PendingBounds = { ofRealm: 50_000, inAll: 200_000 }

/** Keeps unfinished logins from filling the database. */
export interface PendingLimiter {
  /** Counts one more pending login. */
  count(): Promise<void> | void
}

/** @param every number of logins of this worker between two checks */
export function createPendingLimiter(db: Database, bounds = pendingBounds, every = 500): PendingLimiter {
  let since = 0
  return {
    count() {
      since += 1
      if (since < every) return
      since = 0
      return removeExcessPending(db, bounds).then(() => undefined)
    },
  }
}

/** A session that waits for the program or service that requested it. */
interface Handover {
  readonly sessionId: string
  readonly realm: string
  /** Expected hash of the `code_verifier` (RFC 7636 §4.2, S256). */
  readonly challenge: string
  /** Unix seconds. */
  readonly expiresAt: number
}

interface HandoverRow {
  readonly session_id: string
  readonly code_challenge: string
  readonly expires_at: number
}

const findByCode = query<[hash: Uint8Array, realm: string, now: number], HandoverRow>(
  `SELECT session_id, code_challenge, expires_at FROM saml_handover
     WHERE code_hash = ? AND realm_id = ? AND expires_at > ?`,
)
const insertHandover = insertInto<[Uint8Array, string, string, string, number]>('saml_handover', [
  'code_hash',
  'session_id',
  'realm_id',
  'code_challenge',
  'expires_at',
])
const takeHandover = query<[hash: Uint8Array, now: number], unknown>(
  'DELETE FROM saml_handover WHERE code_hash = ? AND expires_at > ?',
)

/** A code has 256 random bits: its hash needs no salt. */
function hashCode(code: string): Uint8Array {
  return createHash('sha256').update(code).digest()
}

/** Finds a handover of this realm that has not expired. */
export async function findHandover(
  db: Database,
  wanted: { readonly code: string; readonly realm: string },
  now: number,
): Promise<Handover | undefined> {
  const row = await db.get(findByCode, [hashCode(wanted.code), wanted.realm, now])
  if (row === undefined) return undefined
  return {
    sessionId: row.session_id,
    realm: wanted.realm,
    challenge: row.code_challenge,
    expiresAt: row.expires_at,
  }
}

export function handoverInsertion(code: string, handover: Handover): Change {
  const { sessionId, realm, challenge, expiresAt } = handover
  return change(insertHandover, [hashCode(code), sessionId, realm, challenge, expiresAt])
}

/** Consumes a handover. A guard: succeeds once. */
export function handoverUse(code: string, now: number): Change {
  return change(takeHandover, [hashCode(code), now], 1)
}
