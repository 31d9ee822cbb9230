import { failure } from '@warder/base'
import type { IncomingRequest } from '@warder/server'
import Type, { type Static } from 'typebox'
import type { AuthScheme } from '../claims.ts'

/** A stored session. Times are Unix seconds. */
export interface Session {
  readonly id: string
  readonly realm: string
  readonly username: string
  readonly scheme: AuthScheme
  /** SHA-256 of the client certificate, hex, for sessions that began with one. */
  readonly certificateSha256: string | undefined
  readonly createdAt: number
  readonly maxAge: number
  readonly maxStaleAge: number
  /** End of the session without further use: the earlier of last use + stale age and creation + age. */
  readonly endsAt: number
}

export const SessionReply = Type.Object({
  session_id: Type.String(),
  realm_id: Type.String(),
  username: Type.String(),
  auth_scheme: Type.String(),
  cookie_string: Type.String({
    description: 'Empty unless the caller owns the session.',
  }),
  max_age_seconds: Type.Integer(),
  max_stale_age_seconds: Type.Integer(),
  created_at: Type.Integer(),
})

export function showSession(session: Session, cookie: string): Static<typeof SessionReply> {
  return {
    session_id: session.id,
    realm_id: session.realm,
    username: session.username,
    auth_scheme: session.scheme,
    cookie_string: cookie,
    max_age_seconds: session.maxAge,
    max_stale_age_seconds: session.maxStaleAge,
    created_at: session.createdAt,
  }
}

/** End of a session that is used at `now`: extended by the use, but never past its absolute limit. */
export function endAfterUse(
  session: Pick<Session, 'createdAt' | 'maxAge' | 'maxStaleAge'>,
  now: number,
): number {
  return Math.min(now + session.maxStaleAge, session.createdAt + session.maxAge)
}

/** A session is over at its end, not after it. */
export function isLive(session: Session, now: number): boolean {
  return now < session.endsAt
}

/**
 * Returns the new end if it should be stored, else undefined. It is stored at most once per tenth of the stale age,
 * so that a busy session does not cause a write per request. In exchange a session may end up to a tenth early.
 */
export function findNewEnd(session: Session, now: number): number | undefined {
  const end = endAfterUse(session, now)
  const gained = end - session.endsAt
  return gained > 0 && gained >= session.maxStaleAge / 10 ? end : undefined
}

/**
 * The schemes whose sessions are of the same user: passkeys belong to users with a password. Every other scheme has
 * users of its own.
 */
export function schemesOfUser(scheme: AuthScheme): readonly [AuthScheme, AuthScheme] {
  return scheme === 'up' || scheme === 'f2' ? ['up', 'f2'] : [scheme, scheme]
}

export const sessionCookie = '_ea_'

/**
 * Reads the session cookie; undefined when there is none. Two cookies of that name are refused: the second one could
 * make this service and another reader see different sessions.
 * @throws failure('unauthorized')
 */
export function readSessionCookie(request: IncomingRequest): string | undefined {
  const values = request.cookies(sessionCookie)
  if (values.length > 1) throw failure('unauthorized', 'The session cookie appears twice.')
  return values[0]
}

/** RFC 6265: this host only (no Domain), never readable by scripts, never sent from other sites, never without TLS. */
export function setSessionCookie(value: string, maxAgeSeconds: number): string {
  return `${sessionCookie}=${value}; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}`
}

/** `Set-Cookie` that removes the session cookie. */
export const removedSessionCookie = setSessionCookie('', 0)
