export { readSessionCookie, sessionCookie, setSessionCookie } from './cookie.ts'
export type { Session } from './session.ts'
export {
  countEndedSessions,
  type End,
  externalSessionsEnd,
  issuerSessionsEnd,
  jwtSessionsEnd,
  otherIssuersSessionsEnd,
  passwordSessionsEnd,
  realmSessionsEnd,
  type SessionsEnd,
  samlSessionsEnd,
  sessionsEnd,
} from './session-end-store.ts'
export { type AuthenticatedSession, createSessionManager, type SessionManager } from './session-manager.ts'
export { listSessionIds, removeEndedSessions } from './session-store.ts'
