export { type AuthClaims, ClaimsReply, type Subject } from './claims.ts'
export { readSessionCookie, sessionCookie, setSessionCookie } from './cookie.ts'
export { type AuthScheme, readScheme, SchemeName } from './scheme.ts'
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
