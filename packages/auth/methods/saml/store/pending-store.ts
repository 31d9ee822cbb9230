import { createHash } from 'node:crypto'
import { type Change, type Commit, change, type Database, insertInto, query } from '@warder/foundation/sql'

/** A login or logout that was sent to an identity provider. Times are Unix seconds. */
export interface PendingRequest {
  readonly purpose: 'login' | 'logout'
  /** ID of the message, the RelayState, and for a login the value of the cookie. */
  readonly requestId: string
  readonly realm: string
  readonly returnUrl: string
  readonly expiresAt: number
}

interface PendingRow {
  readonly return_url: string
  readonly expires_at: number
}

const find = query<[requestId: string, realm: string, purpose: string, now: number], PendingRow>(
  `SELECT return_url, expires_at FROM saml_request
     WHERE request_id = ? AND realm_id = ? AND purpose = ? AND expires_at > ?`,
)
const insert = insertInto<[string, string, string, number, string]>('saml_request', [
  'request_id',
  'realm_id',
  'return_url',
  'expires_at',
  'purpose',
])
const take = query<[requestId: string, realm: string, now: number], unknown>(
  'DELETE FROM saml_request WHERE request_id = ? AND realm_id = ? AND expires_at > ?',
)
const insertUsed = insertInto<[Uint8Array, number]>('saml_assertion', ['assertion_hash', 'expires_at'])
const removeOldRequests = query<[now: number, most: number], unknown>(
  'DELETE FROM saml_request WHERE request_id IN (SELECT request_id FROM saml_request WHERE expires_at <= ? LIMIT ?)',
)
const removeOldAssertions = query<[now: number, most: number], unknown>(
  `DELETE FROM saml_assertion WHERE assertion_hash IN
     (SELECT assertion_hash FROM saml_assertion WHERE expires_at <= ? LIMIT ?)`,
)

/** One that has not expired, of this realm. */
export async function findPending(
  db: Database,
  wanted: Pick<PendingRequest, 'purpose' | 'requestId' | 'realm'>,
  now: number,
): Promise<PendingRequest | undefined> {
  const row = await db.get(find, [wanted.requestId, wanted.realm, wanted.purpose, now])
  if (row === undefined) return undefined
  return {
    ...wanted,
    returnUrl: row.return_url,
    expiresAt: row.expires_at,
  }
}

export function pendingInsertion(pending: PendingRequest): Change {
  return change(insert, [
    pending.requestId,
    pending.realm,
    pending.returnUrl,
    pending.expiresAt,
    pending.purpose,
  ])
}

/** A guard: takes it, once. Fails when it was taken before, or has expired meanwhile. */
export function pendingUse({ requestId, realm }: PendingRequest, now: number): Change {
  return change(take, [requestId, realm, now], 1)
}

/** Remembers an assertion, or another message, of a realm; UniqueViolation when it was used before. */
export function messageUse(realm: string, id: string, expiresAt: number): Change {
  const hash = createHash('sha256')
    .update(JSON.stringify([realm, id]))
    .digest()
  return change(insertUsed, [hash, expiresAt])
}

const removeOldSessions = query<[now: number, most: number], unknown>(
  'DELETE FROM saml_session WHERE session_id IN (SELECT session_id FROM saml_session WHERE ends_at <= ? LIMIT ?)',
)

const sweepSize = 1000

/** @returns how many rows went */
export async function removeExpiredMessages(commit: Commit, now: number): Promise<number> {
  const results = await commit([
    change(removeOldRequests, [now, sweepSize]),
    change(removeOldAssertions, [now, sweepSize]),
    change(removeOldSessions, [now, sweepSize]),
  ])
  return results.reduce((sum, { changes }) => sum + changes, 0)
}
