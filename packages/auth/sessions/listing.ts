import { failure, type Metrics } from '@warder/base'
import { type Access, defineOperation, get, type OperationContext, pageReply } from '@warder/server'
import type { Database } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { anySession, findMachineToken, requireSession } from '../callers.ts'
import type { AuthScheme } from '../claims.ts'
import { PageQuery } from '../paging.ts'
import { RealmPath, superRealm } from '../realms/realm.ts'
import { realmOrThrow } from '../realms/realm-store.ts'
import { PlainText } from '../texts.ts'
import { type Session, schemesOfUser } from './session.ts'
import type { SessionManager } from './session-manager.ts'
import { listSessions, listSessionsOfSchemes, type SessionCursor } from './session-store.ts'

/** Services used by operations on sessions. */
export interface SessionServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  now(): number
  readonly sessions: SessionManager
}

/** Owner of a session. */
export interface SessionOwner {
  readonly realm: string
  readonly username: string
  readonly scheme: AuthScheme
}

/** Rights of the caller on sessions. */
interface SessionRights {
  sees(owner: SessionOwner): boolean
  ends(owner: SessionOwner): boolean
  /**
   * Whether the caller owns the session: its cookie grants every right of its owner, in both services
   * (docs/adr/logins-and-sessions.md).
   */
  readsCookie(owner: SessionOwner): boolean
  /** Everything of a realm at once. */
  seesRealm(realm: string): boolean
  endsRealm(realm: string): boolean
  /** Realms whose ended sessions may be swept; 'every' for all. */
  readonly sweeps: 'every' | readonly string[]
}

/**
 * Rights of the caller. A session has rights over the sessions of its user, and over those of the realms that its
 * admins administer. A machine token has the rights of its policies `sessions` (read) and `sessions-admin`
 * (everything), in the realm of the role that issued it, or in every realm when that is `_`.
 * @throws failure('forbidden') for a machine token with neither policy
 */
export async function sessionRights(context: OperationContext<unknown>): Promise<SessionRights> {
  const token = findMachineToken(context)
  if (token !== undefined) return machineRights(token)
  const caller = requireSession(context)
  const { session } = caller
  const powers = await caller.powers()
  const isName = (owner: SessionOwner): boolean =>
    owner.realm === session.realm && owner.username === session.username
  const own = (owner: SessionOwner): boolean =>
    isName(owner) && schemesOfUser(session.scheme).includes(owner.scheme)
  const administers = (realm: string): boolean => powers?.administers(realm) === true
  const mayManage = (owner: SessionOwner): boolean => own(owner) || administers(owner.realm)
  return {
    sees: mayManage,
    ends: mayManage,
    // Sessions of another scheme may have other powers.
    readsCookie: (owner) => isName(owner) && owner.scheme === session.scheme,
    seesRealm: administers,
    endsRealm: administers,
    sweeps: powers?.isSuper === true ? 'every' : (powers?.realms ?? []),
  }
}

function machineRights(token: {
  readonly realm: string
  readonly policies: readonly string[]
}): SessionRights {
  const admin = token.policies.includes('sessions-admin')
  if (!admin && !token.policies.includes('sessions')) {
    throw failure('forbidden', 'The token has no policy for sessions.')
  }
  const within = (realm: string): boolean => token.realm === superRealm || token.realm === realm
  return {
    sees: (owner) => within(owner.realm),
    ends: (owner) => admin && within(owner.realm),
    // No policy of a machine includes the rights of the session's user, for example at the key management
    // service.
    readsCookie: () => false,
    seesRealm: within,
    endsRealm: (realm) => admin && within(realm),
    sweeps: admin ? (token.realm === superRealm ? 'every' : [token.realm]) : [],
  }
}

/** The operation decides this for each session. */
export const sessionAccess: Access<unknown> = {
  name: 'session (own), administrator of the realm, or machine token with a sessions policy',
  async check(_input, context) {
    await sessionRights(context)
  },
}

const Text = Type.String()
const defaultPageSize = 1000

const ListedSession = Type.Object({
  session_id: Text,
  realm_id: Text,
  username: Text,
  auth_scheme: Text,
  created_at: Type.Integer(),
  ends_at: Type.Integer({ description: 'Time at which it ends if it is not used before, in Unix seconds.' }),
})

function describeSession(session: Session): Static<typeof ListedSession> {
  return {
    session_id: session.id,
    realm_id: session.realm,
    username: session.username,
    auth_scheme: session.scheme,
    created_at: session.createdAt,
    ends_at: session.endsAt,
  }
}

const toCursor = ({ username, id }: SessionCursor): string =>
  Buffer.from(JSON.stringify([username, id])).toString('base64url')

const isPlace = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0')

/** @throws failure('bad_request') for a text that `toCursor` did not create */
function readCursor(text: string): SessionCursor {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (Array.isArray(value)) {
      const [username, id]: readonly unknown[] = value
      if (isPlace(username) && isPlace(id) && value.length === 2) return { username, id }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw failure('bad_request', 'after: is not the `next` of a page.')
}

/**
 * Lists the sessions of a realm. Unlike reading a single session, listing does not count as a use and extends no
 * session.
 */
export const sessionListing = defineOperation<SessionServices>()({
  name: 'sessions.of_realm',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/sessions/realms/{realm_id}'),
  summary: 'Live sessions of a realm, or of one of its users, without their cookies',
  description: 'Ordered by username. `next`, if present, is the `after` of the next page.',
  tag: 'Sessions',
  access: sessionAccess,
  pathParameters: RealmPath,
  queryParameters: Type.Object({
    ...PageQuery.properties,
    username: Type.Optional(PlainText({ maxLength: 512 })),
  }),
  paged: true,
  errors: { 404: 'There is no such realm.' },
  reply: Type.Object({ sessions: Type.Array(ListedSession), next: Type.Optional(Text) }),
  async act({ path, query }, context) {
    context.audit({ realm: path.realm_id })
    const rights = await sessionRights(context)
    if (!rights.seesRealm(path.realm_id)) throw failure('forbidden', 'This needs rights over this realm.')
    const { db, now } = context.services
    await realmOrThrow(db, path.realm_id)
    const limit = query.limit === undefined ? defaultPageSize : Number(query.limit)
    const after = query.after === undefined ? undefined : readCursor(query.after)
    const wanted = { realm: path.realm_id, username: query.username, after, limit: limit + 1 }
    const found = await listSessions(db, wanted, now())
    const sessions = found.slice(0, limit)
    const last = sessions.at(-1)
    const next = found.length > limit && last !== undefined ? toCursor(last) : undefined
    return pageReply({ sessions: sessions.map(describeSession), ...(next !== undefined && { next }) }, next)
  },
})

/** Lists the sessions of the caller, those by password and by passkey together. */
export const ownSessions = defineOperation<SessionServices>()({
  name: 'sessions.own',
  reach: ['reveal attributes'],
  route: get('/account/sessions'),
  summary: 'Live sessions of the caller',
  description: '`next`, if present, is the `after` of the next page.',
  tag: 'Account',
  access: anySession,
  queryParameters: PageQuery,
  paged: true,
  reply: Type.Object({
    sessions: Type.Array(
      Type.Object({
        ...ListedSession.properties,
        current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
      }),
    ),
    next: Type.Optional(Text),
  }),
  async act({ query }, context) {
    const { id: own, realm, username, scheme } = requireSession(context).session
    const { db, now } = context.services
    const limit = query.limit === undefined ? defaultPageSize : Number(query.limit)
    const page = { after: query.after ?? '', limit: limit + 1 }
    const filter = { realm, username, schemes: schemesOfUser(scheme) }
    const rows = await listSessionsOfSchemes(db, { ...filter, ...page }, now())
    const sessions = rows
      .slice(0, limit)
      .map((session) => ({ ...describeSession(session), current: session.id === own }))
    const next = rows.length > limit ? rows[limit - 1]?.id : undefined
    return pageReply({ sessions, ...(next !== undefined && { next }) }, next)
  },
})
