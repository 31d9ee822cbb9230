export { readSessionCookie, sessionCookie, setSessionCookie } from './cookie.ts'
export type { Session } from './session.ts'
export { createSessionBook, type PresentedSession, type SessionBook } from './session-book.ts'
export {
  countEndedSessions,
  type End,
  endUnregisteredSessions,
  issuerSessionsEnd,
  jwtSessionsEnd,
  otherIssuersSessionsEnd,
  passwordSessionsEnd,
  realmSessionsEnd,
  type SessionsEnd,
  samlSessionsEnd,
  sessionsEnd,
} from './session-end-store.ts'
export { listSessionIds, removeEndedSessions } from './session-store.ts'
