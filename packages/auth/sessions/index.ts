export { readSessionCookie, setSessionCookie } from './cookie.ts'
export type { Session } from './session.ts'
export { createSessionBook, type PresentedSession, type SessionBook } from './session-book.ts'
export {
  jwtSessionsRemoval,
  otherIssuersSessionsRemoval,
  passwordSessionsRemoval,
  realmSessionsRemoval,
  removeEndedSessions,
  samlSessionsRemoval,
  sessionIdsOf,
  sessionRemoval,
} from './session-store.ts'
