import { failure } from '@warder/base'
import { defineOperation, get, pageReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { PageQuery } from '../paging/page.ts'
import { RealmPath } from '../realms/realm-id.ts'
import { realmOrThrow } from '../realms/realm-store.ts'
import { PlainText } from '../texts/plain-text.ts'
import { sessionAccess, sessionRights } from './access.ts'
import type { SessionServices } from './services.ts'
import type { Session } from './session.ts'
import { listSessions, type SessionCursor } from './session-store.ts'

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
