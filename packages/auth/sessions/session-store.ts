import { type Change, type Commit, change, type Database, insertInto, query, readOne } from '@warder/storage'
import type { AuthScheme } from '../claims.ts'
import { removeInBatches } from '../sweep.ts'
import type { Session } from './session.ts'

interface SessionRow {
  readonly session_id: string
  readonly realm_id: string
  readonly username: string
  readonly auth_scheme: string
  readonly certificate_sha256: string | null
  readonly created_at: number
  readonly max_age: number
  readonly max_stale_age: number
  readonly ends_at: number
}

const columns =
  'session_id, realm_id, username, auth_scheme, certificate_sha256, created_at, max_age, max_stale_age, ends_at'
const countOpen = query<[now: number], { readonly count: number }>(
  'SELECT count(*) AS count FROM session WHERE ends_at > ?',
)
const byId = query<[id: string], SessionRow>(`SELECT ${columns} FROM session WHERE session_id = ?`)
const selectCookie = query<[id: string], { readonly sealed_cookie: Uint8Array }>(
  'SELECT sealed_cookie FROM session WHERE session_id = ?',
)
const idsOfClient = query<
  [realm: string, username: string, scheme: string, now: number],
  { readonly session_id: string }
>(
  `SELECT session_id FROM session WHERE realm_id = ? AND username = ? AND auth_scheme = ? AND ends_at > ?
     ORDER BY session_id`,
)
const liveOfRealm = query<
  [realm: string, username: string, id: string, now: number, limit: number],
  SessionRow
>(
  `SELECT ${columns} FROM session WHERE realm_id = ? AND (username, session_id) > (?, ?) AND ends_at > ?
     ORDER BY username, session_id LIMIT ?`,
)
const liveOfUser = query<
  [realm: string, username: string, id: string, now: number, limit: number],
  SessionRow
>(
  `SELECT ${columns} FROM session WHERE realm_id = ? AND username = ? AND session_id > ? AND ends_at > ?
     ORDER BY username, session_id LIMIT ?`,
)
const liveOfSchemes = query<
  [realm: string, username: string, one: string, other: string, id: string, now: number, limit: number],
  SessionRow
>(
  `SELECT ${columns} FROM session WHERE realm_id = ? AND username = ? AND auth_scheme IN (?, ?) AND session_id > ?
     AND ends_at > ? ORDER BY username, session_id LIMIT ?`,
)
const insert = insertInto<
  [string, string, string, string, string | null, Uint8Array, number, number, number, number]
>('session', [
  'session_id',
  'realm_id',
  'username',
  'auth_scheme',
  'certificate_sha256',
  'sealed_cookie',
  'created_at',
  'max_age',
  'max_stale_age',
  'ends_at',
])
const slide = query<[endsAt: number, id: string, endsAt: number], unknown>(
  'UPDATE session SET ends_at = ? WHERE session_id = ? AND ends_at < ?',
)
const removeOneIfEnded = query<[id: string, now: number], unknown>(
  'DELETE FROM session WHERE session_id = ? AND ends_at <= ?',
)
const removeEnded = query<[now: number, limit: number], unknown>(
  'DELETE FROM session WHERE session_id IN (SELECT session_id FROM session WHERE ends_at <= ? LIMIT ?)',
)
const removeEndedOfRealm = query<[now: number, realm: string, limit: number], unknown>(
  `DELETE FROM session WHERE session_id IN
     (SELECT session_id FROM session WHERE ends_at <= ? AND realm_id = ? LIMIT ?)`,
)

function toSession(row: SessionRow): Session {
  return {
    id: row.session_id,
    realm: row.realm_id,
    username: row.username,
    scheme: row.auth_scheme as AuthScheme,
    certificateSha256: row.certificate_sha256 ?? undefined,
    createdAt: row.created_at,
    maxAge: row.max_age,
    maxStaleAge: row.max_stale_age,
    endsAt: row.ends_at,
  }
}

/** Finds the row, ended or not. */
export async function findSession(db: Database, id: string): Promise<Session | undefined> {
  return await readOne(db, byId, [id], toSession)
}

export async function findSealedCookie(db: Database, id: string): Promise<Uint8Array | undefined> {
  return (await db.get(selectCookie, [id]))?.sealed_cookie
}

export function sessionInsertion(session: Session, sealedCookie: Uint8Array): Change {
  return change(insert, [
    session.id,
    session.realm,
    session.username,
    session.scheme,
    session.certificateSha256 ?? null,
    sealedCookie,
    session.createdAt,
    session.maxAge,
    session.maxStaleAge,
    session.endsAt,
  ])
}

/** Moves the end later, never earlier, also with concurrent updates. */
export function sessionSlide(id: string, endsAt: number): Change {
  return change(slide, [endsAt, id, endsAt])
}

/** Removes the session if it has ended. */
export function sessionRemovalIfEnded(id: string, now: number): Change {
  return change(removeOneIfEnded, [id, now])
}

/** Ids of the live sessions of one client. */
export async function listSessionIds(
  db: Database,
  client: { readonly realm: string; readonly username: string; readonly scheme: AuthScheme },
  now: number,
): Promise<readonly string[]> {
  const rows = await db.all(idsOfClient, [client.realm, client.username, client.scheme, now])
  return rows.map(({ session_id }) => session_id)
}

/** Cursor in the list of a realm's sessions, which is ordered by username and then by id. */
export interface SessionCursor {
  readonly username: string
  readonly id: string
}

/** Lists live sessions of a realm, or of one of its users in every scheme, after a cursor; at most `limit`. */
export async function listSessions(
  db: Database,
  wanted: {
    readonly realm: string
    readonly username: string | undefined
    readonly after: SessionCursor | undefined
    readonly limit: number
  },
  now: number,
): Promise<readonly Session[]> {
  const { realm, username, after, limit } = wanted
  const rows = await (username === undefined
    ? db.all(liveOfRealm, [realm, after?.username ?? '', after?.id ?? '', now, limit])
    : db.all(liveOfUser, [realm, username, after?.id ?? '', now, limit]))
  return rows.map(toSession)
}

/** Lists live sessions of a user that began with one of two schemes, after an id; at most `limit`. */
export async function listSessionsOfSchemes(
  db: Database,
  wanted: {
    readonly realm: string
    readonly username: string
    readonly schemes: readonly [AuthScheme, AuthScheme]
    readonly after: string
    readonly limit: number
  },
  now: number,
): Promise<readonly Session[]> {
  const { realm, username, schemes, after, limit } = wanted
  return (await db.all(liveOfSchemes, [realm, username, ...schemes, after, now, limit])).map(toSession)
}

/** @param now Unix seconds */
export async function countOpenSessions(db: Database, now: number): Promise<number> {
  return (await db.get(countOpen, [now]))?.count ?? 0
}

/** Deletes sessions that have ended, optionally of one realm. @returns how many rows */
export function removeEndedSessions(commit: Commit, now: number, realm?: string): Promise<number> {
  return removeInBatches(commit, (limit) => [
    realm === undefined ? change(removeEnded, [now, limit]) : change(removeEndedOfRealm, [now, realm, limit]),
  ])
}
