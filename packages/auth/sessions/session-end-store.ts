import { type Change, change, type Database, query } from '@warder/storage'
import type { AuthScheme } from '../claims.ts'
import {
  appendToFeed,
  entryChange,
  loginRetentionSeconds,
  type RevocationReason,
} from '../revocations/feed-store.ts'

/** Time and reason of the end of sessions. */
export interface End {
  /** Unix seconds. */
  readonly at: number
  readonly reason: RevocationReason
}

/** Appends the current sessions that match a condition to the revocation feed. */
const insertIntoFeed = <P extends readonly (string | number)[]>(condition: string) =>
  query<[at: number, reason: string, ...P], unknown>(
    `INSERT INTO ended (seq, kind, subject, realm_id, username, ended_at, until_at, reason)
       SELECT h.seq + ROW_NUMBER() OVER (), 'session', s.session_id, s.realm_id, s.username, ?,
           s.created_at + s.max_age, ?
         FROM session s CROSS JOIN ended_head h WHERE h.id = 1 AND ${condition}`,
  )
/**
 * Deletes the matching sessions that are in the feed. A session that was created between the two statements stays,
 * because it began after the end. The count uses the index for each session; EXISTS could become a join over the
 * whole feed.
 */
const deleteWhere = <P extends readonly (string | number)[]>(condition: string) =>
  query<P, unknown>(
    `DELETE FROM session WHERE ${condition} AND
       (SELECT COUNT(*) FROM ended e WHERE e.subject = session.session_id AND e.kind = 'session') > 0`,
  )

/** Maximum number of ids in one statement. */
const idsAtOnce = 100
const marks = Array.from({ length: idsAtOnce }, () => '?').join(', ')
const feedIds = insertIntoFeed<string[]>(`s.session_id IN (${marks})`)
const deleteIds = deleteWhere<string[]>(`session_id IN (${marks})`)
const feedRealm = insertIntoFeed<[realm: string]>('s.realm_id = ?')
const deleteRealm = deleteWhere<[realm: string]>('realm_id = ?')
const userCondition = 'realm_id = ? AND username = ? AND auth_scheme = ?'
const feedUser = insertIntoFeed<[realm: string, username: string, scheme: AuthScheme]>(userCondition)
const deleteUser = deleteWhere<[realm: string, username: string, scheme: AuthScheme]>(userCondition)
const unregisteredCondition = "realm_id = ? AND username = ? AND auth_scheme IN ('cc', 'sa')"
const feedUnregistered = insertIntoFeed<[realm: string, username: string]>(unregisteredCondition)
const deleteUnregistered = deleteWhere<[realm: string, username: string]>(unregisteredCondition)
const credentialCondition = "realm_id = ? AND username = ? AND auth_scheme IN ('up', 'f2')"
const feedCredential = insertIntoFeed<[realm: string, username: string]>(credentialCondition)
const deleteOfCredential = deleteWhere<[realm: string, username: string]>(credentialCondition)
const wholeSchemeCondition = 'realm_id = ? AND auth_scheme = ?'
const feedScheme = insertIntoFeed<[realm: string, scheme: AuthScheme]>(wholeSchemeCondition)
const deleteScheme = deleteWhere<[realm: string, scheme: AuthScheme]>(wholeSchemeCondition)
const otherIssuerCondition = `realm_id = ? AND username = ? AND auth_scheme = 'jwt' AND EXISTS
  (SELECT 1 FROM jwt_subject j WHERE j.realm_id = ? AND j.subject = ? AND j.issuer <> ?)`
type Others = [realm: string, username: string, realm: string, username: string, issuer: string]
const feedOthers = insertIntoFeed<Others>(otherIssuerCondition)
const deleteOthers = deleteWhere<Others>(otherIssuerCondition)
const issuerCondition = `realm_id = ? AND auth_scheme = 'jwt' AND username IN
  (SELECT j.subject FROM jwt_subject j WHERE j.realm_id = ? AND j.issuer = ?)`
const feedIssuer = insertIntoFeed<[realm: string, realm: string, issuer: string]>(issuerCondition)
const deleteIssuer = deleteWhere<[realm: string, realm: string, issuer: string]>(issuerCondition)

/** Changes that end sessions. The last one deletes them, and its row count is their number. */
export type SessionsEnd = readonly [...Change[], Change]

/** Returns how many sessions a commit ended whose last change is that of a `SessionsEnd`. */
export function countEndedSessions(results: readonly { readonly changes: number }[]): number {
  return results.at(-1)?.changes ?? 0
}

/** Remembered logins of a user at other services, such as the web page of the kms. */
function logins(realm: string, username: string, { at, reason }: End): Change {
  const untilAt = at + loginRetentionSeconds
  return entryChange({ kind: 'logins', subject: '', realm, username, endedAt: at, untilAt, reason })
}

/** Sessions by id, in groups; each group ends with the change that deletes. */
export function sessionsEnd(db: Database, ids: readonly string[], end: End): readonly SessionsEnd[] {
  const groups: SessionsEnd[] = []
  for (let first = 0; first < ids.length; first += idsAtOnce) {
    const group = ids.slice(first, first + idsAtOnce)
    // No session has an empty id.
    const padded = [...group, ...Array.from({ length: idsAtOnce - group.length }, () => '')]
    groups.push([
      ...appendToFeed(db, change(feedIds, [end.at, end.reason, ...padded])),
      change(deleteIds, padded),
    ])
  }
  return groups
}

/** Remembered logins of clients at other services, in addition to sessions that are ended by id. */
export function loginsEnd(
  db: Database,
  users: readonly { readonly realm: string; readonly username: string }[],
  end: End,
): readonly Change[] {
  return users.length === 0
    ? []
    : appendToFeed(db, ...users.map(({ realm, username }) => logins(realm, username, end)))
}

/** Every session of a realm. */
export function realmSessionsEnd(db: Database, realm: string, { at, reason }: End): SessionsEnd {
  const untilAt = at + loginRetentionSeconds
  const all = entryChange({ kind: 'realm', subject: '', realm, username: '', endedAt: at, untilAt, reason })
  return [...appendToFeed(db, change(feedRealm, [at, reason, realm]), all), change(deleteRealm, [realm])]
}

/** Every session that began with this user's password. */
export function passwordSessionsEnd(db: Database, realm: string, username: string, end: End): SessionsEnd {
  return ofScheme(db, realm, username, 'up', end)
}

/** Every session of a user with a password: those that began with it, or with a passkey. */
export function credentialSessionsEnd(db: Database, realm: string, username: string, end: End): SessionsEnd {
  const sessions = change(feedCredential, [end.at, end.reason, realm, username])
  return [
    ...appendToFeed(db, sessions, logins(realm, username, end)),
    change(deleteOfCredential, [realm, username]),
  ]
}

/** Every session that began with a passkey of this user. */
export function passkeySessionsEnd(db: Database, realm: string, username: string, end: End): SessionsEnd {
  return ofScheme(db, realm, username, 'f2', end)
}

/** Every session under a name that an identity provider vouched for. */
export function jwtSessionsEnd(db: Database, realm: string, username: string, end: End): SessionsEnd {
  return ofScheme(db, realm, username, 'jwt', end)
}

/** Every session of a realm that began with a scheme. */
export function schemeSessionsEnd(
  db: Database,
  realm: string,
  scheme: AuthScheme,
  { at, reason }: End,
): SessionsEnd {
  return [
    ...appendToFeed(db, change(feedScheme, [at, reason, realm, scheme])),
    change(deleteScheme, [realm, scheme]),
  ]
}

/** Every session of a user without a registration: by a certificate, or at the SAML identity provider. */
export function externalSessionsEnd(db: Database, realm: string, username: string, end: End): SessionsEnd {
  const sessions = change(feedUnregistered, [end.at, end.reason, realm, username])
  return [
    ...appendToFeed(db, sessions, logins(realm, username, end)),
    change(deleteUnregistered, [realm, username]),
  ]
}

function ofScheme(db: Database, realm: string, username: string, scheme: AuthScheme, end: End): SessionsEnd {
  const sessions = change(feedUser, [end.at, end.reason, realm, username, scheme])
  return [
    ...appendToFeed(db, sessions, logins(realm, username, end)),
    change(deleteUser, [realm, username, scheme]),
  ]
}

/** The same, if the name belongs to another provider. */
export function otherIssuersSessionsEnd(
  db: Database,
  realm: string,
  username: string,
  issuer: string,
  { at, reason }: End,
): SessionsEnd {
  const others: Others = [realm, username, realm, username, issuer]
  return [...appendToFeed(db, change(feedOthers, [at, reason, ...others])), change(deleteOthers, others)]
}

/**
 * Ends the sessions of all names of a provider. They are found by the names, which are therefore deleted afterwards.
 */
export function issuerSessionsEnd(
  db: Database,
  realm: string,
  issuer: string,
  { at, reason }: End,
): SessionsEnd {
  return [
    ...appendToFeed(db, change(feedIssuer, [at, reason, realm, realm, issuer])),
    change(deleteIssuer, [realm, realm, issuer]),
  ]
}
