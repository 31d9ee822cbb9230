import { failure } from '@warder/foundation/errors'
import type { Access, Authenticate, OperationContext, Principal } from '@warder/foundation/operations'
import { type Powers, powersOf } from './admins/powers.ts'
import { findToken, type MachineToken, presentedToken } from './machines/tokens.ts'
import type { AuthServices } from './services.ts'
import { type PresentedSession, readSessionCookie } from './sessions/index.ts'

/** Who calls through a session cookie. */
export interface SessionCaller extends Principal {
  readonly kind: 'session'
  readonly presented: PresentedSession
}

/** Who calls with a machine token. */
export interface MachineCaller extends Principal {
  readonly kind: 'machine'
  readonly token: MachineToken
}

type Context = OperationContext<AuthServices>

/** A session cookie, else a machine token. What a request carries but does not prove is no credential. */
export function authenticateWith(services: AuthServices): Authenticate {
  return async (request) => {
    const cookie = readSessionCookie(request)
    if (cookie !== undefined) {
      const presented = await services.sessions.present(cookie, request.connection)
      if (presented === undefined) return undefined
      const { username, realm } = presented.session
      const caller: SessionCaller = { kind: 'session', name: username, method: 'session', realm, presented }
      return caller
    }
    const secret = presentedToken(request)
    if (secret === undefined) return undefined
    const token = await findToken(services, secret)
    if (token === undefined) return undefined
    const caller: MachineCaller = { kind: 'machine', name: token.entity, method: 'machine_token', token }
    return caller
  }
}

function isSession(principal: Principal | undefined): principal is SessionCaller {
  return principal !== undefined && 'kind' in principal && principal.kind === 'session'
}

function isMachine(principal: Principal | undefined): principal is MachineCaller {
  return principal !== undefined && 'kind' in principal && principal.kind === 'machine'
}

/** @throws failure('unauthorized') when the caller has no session */
export function sessionOf(context: Context): PresentedSession {
  if (!isSession(context.principal)) throw failure('unauthorized')
  return context.principal.presented
}

/** The caller's machine token, if that is what it came with. */
export function machineOf(context: Context): MachineToken | undefined {
  return isMachine(context.principal) ? context.principal.token : undefined
}

/** @throws failure('forbidden') when no admin stands behind the session */
export async function powersOfCaller(context: Context): Promise<Powers> {
  const powers = await powersOf(context.services.db, sessionOf(context).session)
  if (powers === undefined) throw failure('forbidden', 'This is for administrators.')
  return powers
}

/** Anybody with a live session. */
export const anySession: Access<AuthServices> = {
  name: 'session',
  check(_input, context) {
    sessionOf(context)
  },
}

/** Any administrator; what they see or change is narrowed to their realms by the operation. */
export const anyAdmin: Access<AuthServices> = {
  name: 'administrator',
  async check(_input, context) {
    await powersOfCaller(context)
  },
}

export const superAdmin: Access<AuthServices> = {
  name: 'super administrator',
  async check(_input, context) {
    const powers = await powersOfCaller(context)
    if (!powers.isSuper) throw failure('forbidden', 'This is for super administrators.')
  },
}

/** Who administers the realm that the path names. */
export const realmAdmin: Access<AuthServices> = {
  name: 'administrator of the realm',
  async check({ path }, context) {
    const powers = await powersOfCaller(context)
    if (!powers.administers(path.realm_id ?? '')) {
      throw failure('forbidden', 'This needs rights over this realm.')
    }
  },
}

export const everybody: Access<AuthServices> = { name: 'public', public: true }
