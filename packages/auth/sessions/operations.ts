import { failure } from '@warder/base'
import {
  defineOperation,
  del,
  get,
  type Operation,
  type OperationContext,
  post,
  rawReply,
} from '@warder/server'
import type { Change } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { anySession, requireSession } from '../callers.ts'
import { readScheme, SchemeName } from '../claims.ts'
import { countSessions } from '../counting.ts'
import { RealmPath } from '../realms/realm.ts'
import { PlainText } from '../texts.ts'
import {
  ownSessions,
  type SessionOwner,
  type SessionServices,
  sessionAccess,
  sessionListing,
  sessionRights,
} from './listing.ts'
import {
  isLive,
  removedSessionCookie,
  type Session,
  SessionReply,
  schemesOfUser,
  showSession,
} from './session.ts'
import {
  countEndedSessions,
  loginsEnd,
  realmSessionsEnd,
  type SessionsEnd,
  sessionsEnd,
} from './session-end-store.ts'
import { findSession, listSessionIds, removeEndedSessions } from './session-store.ts'

const define = defineOperation<SessionServices>()
const tag = 'Sessions'
const maxItems = 10_000

const Client = Type.Object({ username: PlainText({ maxLength: 512 }), auth_scheme: SchemeName })
const Clients = Type.Array(Client, { maxItems: maxItems })
const SessionPath = Type.Object({ session_id: Type.String({ maxLength: 64 }) })
const MaybeSession = Type.Union([SessionReply, Type.Null()])

type Context = OperationContext<SessionServices>

/** Returns the live session with this id, if the caller may see it. Reading it counts as a use. */
async function visibleSession(context: Context, id: string): Promise<Session | undefined> {
  const { db, now, sessions } = context.services
  const session = await findSession(db, id)
  if (session === undefined || !isLive(session, now())) return undefined
  const rights = await sessionRights(context)
  return rights.sees(session) ? sessions.use(id) : undefined
}

async function show(context: Context, session: Session): Promise<Static<typeof SessionReply>> {
  const rights = await sessionRights(context)
  const cookie = rights.readsCookie(session) ? await context.services.sessions.readCookie(session.id) : ''
  return showSession(session, cookie ?? '')
}

function listOwners(realm: string, clients: Static<typeof Clients>): readonly SessionOwner[] {
  return clients.map(({ username, auth_scheme }) => ({ realm, username, scheme: readScheme(auth_scheme) }))
}

/** @throws failure('forbidden') when the caller may not end sessions of one of them */
async function requireEnds(context: Context, owners: readonly SessionOwner[]): Promise<void> {
  const rights = await sessionRights(context)
  if (!owners.every((owner) => rights.ends(owner))) {
    throw failure('forbidden', 'This needs rights over every session concerned.')
  }
}

/** Commits changes that end sessions. @returns how many sessions ended */
async function commitEnds(
  context: Context,
  groups: readonly SessionsEnd[],
  more: readonly Change[] = [],
): Promise<number> {
  const results = await context.commit([...groups.flat(), ...more])
  let ended = 0
  let end = 0
  for (const group of groups) {
    end += group.length
    ended += countEndedSessions(results.slice(0, end))
  }
  return ended
}

/** Ends the sessions of the listed clients except `keep`. */
async function logOut(
  context: Context,
  owners: readonly SessionOwner[],
  keep: string | undefined,
): Promise<void> {
  const { db, metrics, now } = context.services
  const ids = new Set<string>()
  for (const owner of owners) for (const id of await listSessionIds(db, owner, now())) ids.add(id)
  if (keep !== undefined) ids.delete(keep)
  context.audit({ details: { ended: ids.size } })
  if (ids.size === 0) return
  const end = { at: now(), reason: 'logged_out' } as const
  // Remembered logins at other services are not sessions: they end only when every session of the client
  // ends.
  const logins = keep === undefined ? loginsEnd(db, owners, end) : []
  countSessions(metrics, 'logged_out', await commitEnds(context, sessionsEnd(db, [...ids], end), logins))
}

export const sessionOperations: readonly Operation<SessionServices>[] = [
  define({
    name: 'sessions.get',
    reach: ['reveal attributes'],
    route: get('/sessions/{session_id}'),
    summary: 'A session, or null if it does not exist, has ended or is not visible to the caller',
    tag,
    access: sessionAccess,
    pathParameters: SessionPath,
    reply: MaybeSession,
    async act({ path }, context) {
      context.audit({ object: path.session_id })
      const session = await visibleSession(context, path.session_id)
      return session === undefined ? null : show(context, session)
    },
  }),
  define({
    name: 'sessions.act',
    reach: ['end session'],
    route: post('/sessions/{session_id}'),
    summary: 'A session, and log out sessions of its clients',
    tag,
    access: sessionAccess,
    pathParameters: SessionPath,
    request: Type.Object({
      authenticated_clients: Clients,
      sessions_action: Type.Optional(
        Type.Union([Type.Literal('LogoutOtherSessions'), Type.Literal('LogoutAllSessions'), Type.Null()]),
      ),
    }),
    reply: MaybeSession,
    async act({ path, body }, context) {
      const action = body.sessions_action ?? undefined
      context.audit({ object: path.session_id, details: { action: action ?? 'none' } })
      const session = await visibleSession(context, path.session_id)
      if (session === undefined) return null
      const shown = await show(context, session)
      if (action === undefined) return shown
      const owners = listOwners(session.realm, body.authenticated_clients)
      await requireEnds(context, [session, ...owners])
      const listed = owners.some(
        ({ username, scheme }) => username === session.username && scheme === session.scheme,
      )
      if (listed) {
        await logOut(context, owners, action === 'LogoutOtherSessions' ? session.id : undefined)
      }
      return shown
    },
  }),
  define({
    name: 'sessions.list',
    reach: ['reveal existence', 'reveal attributes'],
    route: post('/sessions/realms/{realm_id}/clients'),
    summary: 'Ids of the live sessions of clients of a realm',
    tag,
    access: sessionAccess,
    pathParameters: RealmPath,
    request: Type.Union([Clients, Type.Object({ authenticated_clients: Clients })]),
    reply: Type.Object({ session_ids: Type.Array(Type.String()) }),
    async act({ path, body }, context) {
      const clients = 'authenticated_clients' in body ? body.authenticated_clients : body
      const owners = listOwners(path.realm_id, clients)
      context.audit({ realm: path.realm_id })
      const rights = await sessionRights(context)
      if (!owners.every((owner) => rights.sees(owner))) {
        throw failure('forbidden', 'This needs rights over every client listed.')
      }
      const ids = new Set<string>()
      for (const owner of owners) {
        for (const id of await listSessionIds(context.services.db, owner, context.services.now())) ids.add(id)
      }
      return { session_ids: [...ids] }
    },
  }),
  sessionListing,
  ownSessions,
  define({
    name: 'sessions.end_others',
    reach: ['end session'],
    route: del('/account/sessions'),
    summary: 'End all sessions of the caller but the one of this request',
    description: '`DELETE /sessions` ends single ones.',
    tag: 'Account',
    access: anySession,
    status: 204,
    async act(_input, context) {
      const { id, realm, username, scheme } = requireSession(context).session
      context.audit({ realm, object: username })
      await logOut(
        context,
        schemesOfUser(scheme).map((one) => ({ realm, username, scheme: one })),
        id,
      )
    },
  }),
  define({
    name: 'sessions.logout',
    reach: ['end session'],
    route: post('/logout'),
    summary: 'End the session of this request, and remove its cookie',
    tag: 'Account',
    access: anySession,
    status: 204,
    async act(_input, context) {
      const { id, realm } = requireSession(context).session
      context.audit({ realm, object: id })
      const { db, metrics, now } = context.services
      const groups = sessionsEnd(db, [id], { at: now(), reason: 'logged_out' })
      countSessions(metrics, 'logged_out', await commitEnds(context, groups))
      return rawReply({ status: 204, headers: { 'Set-Cookie': removedSessionCookie } })
    },
  }),
  define({
    name: 'sessions.end',
    reach: ['end session'],
    route: del('/sessions'),
    summary: 'End sessions by id',
    tag,
    access: sessionAccess,
    request: Type.Object({
      session_ids: Type.Array(PlainText({ maxLength: 64 }), { maxItems: maxItems }),
    }),
    status: 204,
    async act({ body }, context) {
      const ids = [...new Set(body.session_ids)]
      context.audit({ details: { session_ids: ids, count: ids.length } })
      const owners: SessionOwner[] = []
      for (const id of ids) {
        const session = await findSession(context.services.db, id)
        if (session !== undefined) owners.push(session)
      }
      await requireEnds(context, owners)
      if (owners.length === 0) return
      const { db, metrics, now } = context.services
      const groups = sessionsEnd(db, ids, { at: now(), reason: 'logged_out' })
      countSessions(metrics, 'logged_out', await commitEnds(context, groups))
    },
  }),
  define({
    name: 'sessions.sweep',
    reach: ['end session'],
    route: del('/sessions/expired'),
    summary: 'Delete sessions that have ended',
    tag,
    access: sessionAccess,
    status: 204,
    async act(_input, context) {
      const { sweeps } = await sessionRights(context)
      if (sweeps.length === 0) throw failure('forbidden', 'This is for administrators.')
      const { metrics, now } = context.services
      for (const realm of sweeps === 'every' ? [undefined] : sweeps) {
        countSessions(metrics, 'swept', await removeEndedSessions(context.commit, now(), realm))
      }
    },
  }),
  define({
    name: 'sessions.end_realm',
    reach: ['end session'],
    route: del('/sessions/realms/{realm_id}'),
    summary: 'End every session of a realm',
    tag,
    access: sessionAccess,
    pathParameters: RealmPath,
    status: 204,
    async act({ path }, context) {
      context.audit({ realm: path.realm_id })
      const rights = await sessionRights(context)
      if (!rights.endsRealm(path.realm_id)) throw failure('forbidden', 'This needs rights over this realm.')
      const { db, metrics, now } = context.services
      const group = realmSessionsEnd(db, path.realm_id, { at: now(), reason: 'realm_ended' })
      countSessions(metrics, 'logged_out', await commitEnds(context, [group]))
    },
  }),
]
