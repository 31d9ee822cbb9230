export { readSessionCookie, sessionCookie, setSessionCookie } from './cookie.ts'
export { type Session, SessionReply, showSession } from './session.ts'
export { createSessionBook, type PresentedSession, type SessionBook } from './session-book.ts'
export {
  findSession,
  jwtSessionsRemoval,
  otherIssuersSessionsRemoval,
  passwordSessionsRemoval,
  realmSessionsRemoval,
  removeEndedSessions,
  sessionIdsOf,
  sessionRemoval,
} from './session-store.ts'
