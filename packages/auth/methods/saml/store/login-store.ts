import { createHash } from 'node:crypto'
import { type Change, type Commit, change, type Database, insertInto, query } from '@warder/foundation/sql'

/** A login that was sent to an identity provider. Times are Unix seconds. */
export interface PendingLogin {
  /** ID of the AuthnRequest, the RelayState, and the value of the cookie. */
  readonly requestId: string
  readonly realm: string
  readonly returnUrl: string
  readonly expiresAt: number
}

interface PendingRow {
  readonly request_id: string
  readonly realm_id: string
  readonly return_url: string
  readonly expires_at: number
}

const find = query<[requestId: string, realm: string, now: number], PendingRow>(
  `SELECT request_id, realm_id, return_url, expires_at FROM saml_request
     WHERE request_id = ? AND realm_id = ? AND expires_at > ?`,
)
const insert = insertInto<[string, string, string, number]>('saml_request', [
  'request_id',
  'realm_id',
  'return_url',
  'expires_at',
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
export async function findPendingLogin(
  db: Database,
  requestId: string,
  realm: string,
  now: number,
): Promise<PendingLogin | undefined> {
  const row = await db.get(find, [requestId, realm, now])
  if (row === undefined) return undefined
  return {
    requestId: row.request_id,
    realm: row.realm_id,
    returnUrl: row.return_url,
    expiresAt: row.expires_at,
  }
}

export function pendingLoginInsertion(login: PendingLogin): Change {
  return change(insert, [login.requestId, login.realm, login.returnUrl, login.expiresAt])
}

/** A guard: takes the login, once. Fails when it was taken before, or has expired meanwhile. */
export function pendingLoginUse({ requestId, realm }: PendingLogin, now: number): Change {
  return change(take, [requestId, realm, now], 1)
}

/** Remembers an assertion of a realm; UniqueViolation when it was used before. */
export function assertionUse(realm: string, assertionId: string, expiresAt: number): Change {
  const hash = createHash('sha256')
    .update(JSON.stringify([realm, assertionId]))
    .digest()
  return change(insertUsed, [hash, expiresAt])
}

const sweepSize = 1000

/** @returns how many rows went */
export async function removeExpiredLogins(commit: Commit, now: number): Promise<number> {
  const results = await commit([
    change(removeOldRequests, [now, sweepSize]),
    change(removeOldAssertions, [now, sweepSize]),
  ])
  return results.reduce((sum, { changes }) => sum + changes, 0)
}
