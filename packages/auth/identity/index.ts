export { type AuthClaims, ClaimsReply, type IdentifiedSubject, type Subject } from './claims.ts'
export { checkExtraClaims, reservedClaims, sessionClaims } from './reserved-claims.ts'
export { type AuthScheme, readScheme, SchemeName } from './scheme.ts'
