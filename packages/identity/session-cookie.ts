import { randomUUID } from 'node:crypto'
import type { Clock, Logger } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import type { Change, Database, Seal, SealContext } from '@warder/storage'
import type { Extractor } from './cascade.ts'
import { endSession, findEndedSession } from './ended-session-store.ts'
import type { Ended } from './revocations/ended.ts'
import type { RoleReader, StoredRoleClaims } from './roles.ts'

export const sessionCookieName = 'auth_session'
/** 24 hours (§8). */
const sessionSeconds = 86_400

const place: SealContext = { table: 'auth_session', row: 'cookie', column: 'value' }
/** Of name, value and attributes: browsers drop larger ones without a word (RFC 6265 §6.1). */
const maxCookieLength = 4096
/** Max cookies of the name that one logout processes. */
const maxEnded = 4

interface Content {
  /** Random; identifies the session in the record of a logout. */
  readonly id: string
  /** The user. */
  readonly name: string
  /** Realm of the authentication service, or the OpenID provider. */
  readonly realm: string
  /** Unix milliseconds. */
  readonly until: number
  /** Name in the realm; absent = `name`. */
  readonly username?: string
  /** Of the user, from the authentication service. */
  readonly subjectId?: string
  /** Position of the revocation feed when the login began. */
  readonly position?: number
  /** A session at the authentication service that this one ends with. */
  readonly sessionId?: string
  /** Handle that ends that session there. */
  readonly logoutHandle?: string
  /** Claims of the login from which the roles are read. */
  readonly roleClaims?: StoredRoleClaims
}

/** User of the session. */
export type SessionUser = Omit<Content, 'id' | 'until'>

/** Issuer of the logins of sessions: the authentication service, or an OpenID provider. */
export type LoginProvider = 'auth' | 'oidc'

/**
 * `Set-Cookie` of a new session: sealed by the service's data key, so that every node and every restart reads it. Roles
 * with which it would be too large for browsers are all omitted.
 * @param latest Unix milliseconds at which it ends although it could last longer
 */
export function sessionCookie(
  { seal, clock, log }: { readonly seal: Seal; readonly clock: Clock; readonly log: Logger },
  user: SessionUser,
  latest = Number.POSITIVE_INFINITY,
): string {
  const whole = formatCookie(seal, clock, user, latest)
  const { roleClaims, ...others } = user
  if (roleClaims === undefined || whole.length <= maxCookieLength) return whole
  log.warn(
    { principal: user.name, cookie_bytes: whole.length, max_cookie_bytes: maxCookieLength },
    'the roles of a login do not fit into the session cookie, so none of them counts: a prefix in role_sources selects the ones for this service',
  )
  return formatCookie(seal, clock, others, latest)
}

function formatCookie(seal: Seal, clock: Clock, user: SessionUser, latest: number): string {
  const seconds = Math.max(0, Math.min(sessionSeconds, Math.floor((latest - clock.now()) / 1000)))
  const content: Content = { id: randomUUID(), ...user, until: clock.now() + seconds * 1000 }
  const value = Buffer.from(seal.seal(place, Buffer.from(JSON.stringify(content)))).toString('base64url')
  return `${sessionCookieName}=${value}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${seconds}`
}

export const endedSessionCookie = `${sessionCookieName}=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0`

/**
 * The session of the web page. Refuses two cookies of the name, a cookie that was not sealed here, and an ended
 * session.
 * @param placeOf the configured login service of a realm; undefined = none: the session comes from a login that is no
 *   longer accepted
 * @param ended revocations of the authentication service
 */
export function sessionExtractor(
  {
    seal,
    db,
    clock,
    roles,
  }: { readonly seal: Seal; readonly db: Database; readonly clock: Clock; readonly roles: RoleReader },
  placeOf: (realm: string) => LoginProvider | undefined,
  ended?: Ended,
): Extractor {
  return async (request) => {
    const [value, second] = request.cookies(sessionCookieName)
    if (value === undefined || value === '') return undefined
    if (second !== undefined || value.length > maxCookieLength)
      throw unauthorized('the session cookie is malformed')
    const content = await open(seal, value)
    const { id, name, realm, until, roleClaims } = content
    const place = placeOf(realm)
    if (place === undefined) throw unauthorized('logins of the realm of the session are not configured')
    if (clock.now() >= until) throw unauthorized('the session has expired')
    if ((await findEndedSession(db, id)) !== undefined) throw unauthorized('the session was ended')
    if (place === 'auth' && ended !== undefined) await requireLive(ended, content)
    const kind = place === 'auth' ? 'session' : 'jwt'
    return roles.fromStored(principalNamed(name, 'session', realm), { kind, issuer: realm }, roleClaims)
  }
}

/**
 * @throws failure('unauthorized') when the login has ended at its issuer; failure('overloaded') if that is not known
 */
async function requireLive(ended: Ended, content: Content): Promise<void> {
  const { name, username = name, realm, subjectId, position = 0, sessionId } = content
  await ended.requireCurrent()
  if (sessionId !== undefined && ended.hasSession(sessionId))
    throw unauthorized('the session at the authentication service has ended')
  if (subjectId !== undefined && ended.hasPerson(subjectId))
    throw unauthorized('the user of the session was deleted')
  if (ended.loginsEndedBy(realm, username) > position) throw unauthorized('the logins of the user have ended')
}

/** A session of the web page, for a logout and for its user. */
export interface OpenedSession extends Pick<Content, 'name' | 'realm' | 'until' | 'logoutHandle'> {
  /** Ends it on every node. */
  readonly end: Change
}

/** The sessions of these cookies, without expired ones and those of other services. */
export async function openSessions(
  { seal, clock }: { readonly seal: Seal; readonly clock: Clock },
  cookies: readonly string[],
): Promise<readonly OpenedSession[]> {
  const found: OpenedSession[] = []
  for (const value of cookies.slice(0, maxEnded)) {
    if (value === '' || value.length > maxCookieLength) continue
    const content = await open(seal, value).catch(() => undefined)
    if (content === undefined || clock.now() >= content.until) continue
    const { id, name, realm, until, logoutHandle } = content
    const end = endSession(id, until)
    found.push({ name, realm, until, end, ...(logoutHandle !== undefined && { logoutHandle }) })
  }
  return found
}

async function open(seal: Seal, value: string): Promise<Content> {
  try {
    const bytes = await seal.open(place, Buffer.from(value, 'base64url'))
    const content = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<Content>
    if (typeof content.id === 'string') return content as Content
  } catch (cause) {
    throw unauthorized('the session cookie was not sealed by this service', cause)
  }
  throw unauthorized('the session cookie is of an earlier version')
}
