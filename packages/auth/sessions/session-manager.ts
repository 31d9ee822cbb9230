import { randomUUID } from 'node:crypto'
import { type Clock, type Logger, type Metrics, unixSeconds } from '@warder/base'
import { createTokenCache, type TokenCache } from '@warder/server'
import {
  type Change,
  createUnchangedRows,
  type Database,
  type Seal,
  type UnchangedRows,
} from '@warder/storage'
import type { AuthClaims, IdentifiedSubject, Subject } from '../claims.ts'
import { countSessions } from '../counting.ts'
import { maxSessionAgeSeconds, type Realm } from '../realms/realm.ts'
import type { Signer } from '../signing/signing-keys.ts'
import { endAfterUse, findNewEnd, isLive, type Session, setSessionCookie } from './session.ts'
import {
  findSealedCookie,
  findSession,
  sessionInsertion,
  sessionRemovalIfEnded,
  sessionSlide,
} from './session-store.ts'

/** An authenticated session and the claims of its token. */
export interface AuthenticatedSession {
  readonly session: Session
  readonly claims: AuthClaims
}

export interface SessionManager {
  /** Creates a session. @returns the session, its cookie (the signed token), and the change that stores it */
  create(subject: IdentifiedSubject, realm: Realm): { session: Session; cookie: string; insertion: Change }
  /** Bytes of the largest `Set-Cookie` of a session of this subject: name, value and attributes. */
  cookieSize(subject: Subject, realm: string): number
  /**
   * Returns the live session of a cookie and counts a use; undefined for an invalid cookie.
   * @param connection of the request: see `TokenCache`
   */
  authenticate(cookie: string, connection: object): Promise<AuthenticatedSession | undefined>
  /** Returns a live session by id and counts a use; undefined when there is none. */
  use(id: string): Promise<Session | undefined>
  /** Reads the cookie of the session as it was issued. */
  readCookie(id: string): Promise<string | undefined>
}

/** Capacity of the cache of verified tokens of at most 16 KiB; the oldest are evicted first. */
const maxCachedTokens = 5000
/** Capacity of the cache of session rows; each commit invalidates it. */
const maxCachedSessions = 5000

const sealContext = (id: string) => ({ table: 'session', row: id, column: 'sealed_cookie' })

interface SessionParts {
  readonly db: Database
  readonly seal: Seal
  readonly signer: Signer
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly issuer: string
}

export function createSessionManager(parts: SessionParts): SessionManager {
  return new StoredSessions(parts)
}

class StoredSessions implements SessionManager {
  readonly #parts: SessionParts
  readonly #tokenCache: TokenCache<AuthClaims>
  readonly #sessionCache: UnchangedRows<Session>

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#tokenCache = createTokenCache({ capacity: maxCachedTokens, clock: parts.clock })
    this.#sessionCache = createUnchangedRows(parts.db, maxCachedSessions)
  }

  create(subject: IdentifiedSubject, realm: Realm): { session: Session; cookie: string; insertion: Change } {
    const { seal, signer, clock, issuer } = this.#parts
    const createdAt = unixSeconds(clock)
    const id = randomUUID()
    const ages = {
      createdAt,
      maxAge: realm.session_max_age_seconds,
      maxStaleAge: realm.session_max_stale_age_seconds,
    }
    const session: Session = {
      id,
      realm: realm.id,
      username: subject.username,
      scheme: subject.scheme,
      certificateSha256: subject.certificateSha256,
      ...ages,
      endsAt: endAfterUse(ages, createdAt),
    }
    const cookie = signer.sign(toClaims(session, subject, issuer))
    const sealed = seal.seal(sealContext(id), Buffer.from(cookie))
    return { session, cookie, insertion: sessionInsertion(session, sealed) }
  }

  cookieSize(subject: Subject, realm: string): number {
    const { signer, clock, issuer } = this.#parts
    const { username, scheme, certificateSha256 } = subject
    const ages = {
      createdAt: unixSeconds(clock),
      maxAge: maxSessionAgeSeconds,
      maxStaleAge: maxSessionAgeSeconds,
    }
    const session = { id: randomUUID(), realm, username, scheme, certificateSha256, ...ages, endsAt: 0 }
    const claims = toClaims(session, { ...subject, subjectId: randomUUID() }, issuer)
    return Buffer.byteLength(setSessionCookie(signer.sign(claims), maxSessionAgeSeconds))
  }

  async authenticate(cookie: string, connection: object): Promise<AuthenticatedSession | undefined> {
    const claims = this.#readClaims(cookie, connection)
    if (claims === undefined) return undefined
    const session = await this.use(claims.jti)
    if (session === undefined) return undefined
    // The database row is authoritative: a token with other values was not issued for this session.
    const same =
      session.username === claims.sub && session.realm === claims.as_rid && session.scheme === claims.as_as
    return same ? { session, claims } : undefined
  }

  async use(id: string): Promise<Session | undefined> {
    const { db, clock } = this.#parts
    const session = await this.#sessionCache.get(id, () => findSession(db, id))
    const now = unixSeconds(clock)
    if (session === undefined) return undefined
    if (!isLive(session, now)) {
      await this.#removeEnded(id, now)
      return undefined
    }
    await this.#countUse(session, now)
    return session
  }

  async readCookie(id: string): Promise<string | undefined> {
    const { db, seal } = this.#parts
    const sealed = await findSealedCookie(db, id)
    if (sealed === undefined) return undefined
    return Buffer.from(await seal.open(sealContext(id), sealed)).toString('utf8')
  }

  #readClaims(token: string, connection: object): AuthClaims | undefined {
    const known = this.#tokenCache.get(token, connection)
    if (known !== undefined) return known
    const claims = this.#parts.signer.verify(token) as AuthClaims | undefined
    if (claims !== undefined) this.#tokenCache.put(token, claims, claims.exp)
    return claims
  }

  /** Extends the session. A failed write must not fail the request: the next use writes again. */
  async #countUse(session: Session, now: number): Promise<void> {
    const { db, log } = this.#parts
    const end = findNewEnd(session, now)
    if (end === undefined) return
    try {
      await db.commit([sessionSlide(session.id, end)])
    } catch (error) {
      log.warn({ detail: String(error) }, 'the idle limit of a session could not be extended')
    }
  }

  /** Deletes a session that was seen to have ended: it must not become valid again when the clock is set back. */
  async #removeEnded(id: string, now: number): Promise<void> {
    const { db, log, metrics } = this.#parts
    try {
      const [removed] = await db.commit([sessionRemovalIfEnded(id, now)])
      countSessions(metrics, 'swept', removed?.changes ?? 0)
    } catch (error) {
      log.warn({ detail: String(error) }, 'a session that has ended could not be removed')
    }
  }
}

/**
 * Builds the claims of a session token. The extra claims come first, so that they cannot replace a claim of the
 * service.
 */
function toClaims(session: Session, subject: IdentifiedSubject, issuer: string): AuthClaims {
  return {
    ...subject.extraClaims,
    iss: issuer,
    sub: session.username,
    aud: [session.realm],
    exp: session.createdAt + session.maxAge,
    nbf: session.createdAt,
    iat: session.createdAt,
    jti: session.id,
    roles: subject.roles,
    as_as: session.scheme,
    as_rid: session.realm,
    as_sid: subject.subjectId,
  }
}
