import type { Authenticate } from '@warder/server'
import { findPowers } from './admins/powers.ts'
import type { MachineCaller, SessionCaller } from './callers/callers.ts'
import { useToken } from './machines/tokens.ts'
import { nameIsCertain } from './realm-rules.ts'
import type { AuthServices } from './services.ts'
import { readSessionCookie } from './sessions/cookie.ts'

/** Authenticates by session cookie, else by machine token. Invalid credentials are treated as absent. */
export function authenticateWith(services: AuthServices): Authenticate {
  return async (request) => {
    const cookie = readSessionCookie(request)
    if (cookie !== undefined) {
      const presented = await services.sessions.authenticate(cookie, request.connection)
      if (presented === undefined) return undefined
      const { session, claims } = presented
      const { username, realm } = session
      const powers = () => findPowers(services.db, session, nameIsCertain)
      const caller: SessionCaller = {
        kind: 'session',
        name: username,
        method: 'session',
        realm,
        session,
        claims,
        powers,
      }
      return caller
    }
    const used = await useToken(services, request)
    if (used === undefined) return undefined
    const { token } = used
    const caller: MachineCaller = { kind: 'machine', name: token.entity, method: 'machine_token', token }
    return caller
  }
}
