export { readSessionCookie, sessionCookie, setSessionCookie } from './cookie.ts'
export type { Session } from './session.ts'
export { createSessionBook, type PresentedSession, type SessionBook } from './session-book.ts'
export {
  type End,
  endedBy,
  issuerSessionsEnd,
  jwtSessionsEnd,
  otherIssuersSessionsEnd,
  passwordSessionsEnd,
  realmSessionsEnd,
  type SessionsEnd,
  samlSessionsEnd,
  sessionsEnd,
  unregisteredSessionsEnd,
} from './session-end-store.ts'
export { removeEndedSessions, sessionIdsOf } from './session-store.ts'
