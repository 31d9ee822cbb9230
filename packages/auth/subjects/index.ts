export { findSubject, type JwtSubject, subjectClaim } from './subject-store.ts'
