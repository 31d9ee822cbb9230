export { type AuthClaims, ClaimsReply, type Subject } from './claims.ts'
export { checkExtraClaims, reservedClaims, sessionClaims } from './reserved-claims.ts'
export { type AuthScheme, readScheme, SchemeName } from './scheme.ts'
