import { failure } from '@warder/base'
import type { Access, OperationContext } from '@warder/server'
import { findMachineToken, requireSession } from '../callers/callers.ts'
import type { AuthScheme } from '../identity/scheme.ts'
import { superRealm } from '../realms/realm-id.ts'

/** Owner of a session. */
export interface SessionOwner {
  readonly realm: string
  readonly username: string
  readonly scheme: AuthScheme
}

/** Rights of the caller on sessions. */
export interface SessionRights {
  sees(owner: SessionOwner): boolean
  ends(owner: SessionOwner): boolean
  /**
   * Whether the caller owns the session: its cookie gives every right of its owner, in both services
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
  const own = (owner: SessionOwner): boolean =>
    owner.realm === session.realm && owner.username === session.username && owner.scheme === session.scheme
  const administers = (realm: string): boolean => powers?.administers(realm) === true
  const mayManage = (owner: SessionOwner): boolean => own(owner) || administers(owner.realm)
  return {
    sees: mayManage,
    ends: mayManage,
    readsCookie: own,
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
