import { createHash, randomBytes } from 'node:crypto'
import { type Change, type Commit, change, type Database, insertInto, query, readOne } from '@warder/storage'
import { removeInBatches } from '../../sweep.ts'

/** A one-time link by which a user enrolls, without a session. */
export interface EnrollmentLink {
  readonly realm: string
  readonly username: string
  /** Unix seconds. */
  readonly expiresAt: number
}

interface LinkRow {
  readonly realm_id: string
  readonly username: string
  readonly expires_at: number
}

const find = query<[hash: Uint8Array, now: number], LinkRow>(
  'SELECT realm_id, username, expires_at FROM enrollment_link WHERE token_hash = ? AND expires_at > ?',
)
const insert = insertInto<[Uint8Array, string, string, number]>('enrollment_link', [
  'token_hash',
  'realm_id',
  'username',
  'expires_at',
])
const take = query<[hash: Uint8Array, now: number], unknown>(
  'DELETE FROM enrollment_link WHERE token_hash = ? AND expires_at > ?',
)
const removeOfUser = query<[realm: string, username: string], unknown>(
  'DELETE FROM enrollment_link WHERE realm_id = ? AND username = ?',
)
const removeExpired = query<[now: number, limit: number], unknown>(
  `DELETE FROM enrollment_link WHERE token_hash IN
     (SELECT token_hash FROM enrollment_link WHERE expires_at <= ? LIMIT ?)`,
)

/** A token has 256 random bits: its hash needs no salt. */
export const hashToken = (token: string): Uint8Array => createHash('sha256').update(token).digest()

export async function findEnrollmentLink(
  db: Database,
  token: string,
  now: number,
): Promise<EnrollmentLink | undefined> {
  return readOne(db, find, [hashToken(token), now], ({ realm_id, username, expires_at }) => ({
    ...{ realm: realm_id, username, expiresAt: expires_at },
  }))
}

/**
 * Creates the link of a user and invalidates earlier ones.
 * @returns its token, to be shown once, and the changes that store the hash
 */
export function newEnrollmentLink(link: EnrollmentLink): {
  readonly token: string
  readonly changes: readonly Change[]
} {
  const { realm, username, expiresAt } = link
  const token = randomBytes(32).toString('base64url')
  const insertion = change(insert, [hashToken(token), realm, username, expiresAt])
  return { token, changes: [enrollmentLinksRemoval(realm, username), insertion] }
}

/** Consumes a link. A guard: of concurrent uses, one succeeds. */
export function enrollmentLinkUse(token: string, now: number): Change {
  return change(take, [hashToken(token), now], 1)
}

export function enrollmentLinksRemoval(realm: string, username: string): Change {
  return change(removeOfUser, [realm, username])
}

export function removeExpiredLinks(commit: Commit, now: number): Promise<number> {
  return removeInBatches(commit, (limit) => [change(removeExpired, [now, limit])])
}
