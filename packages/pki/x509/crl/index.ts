/** Certificate revocation lists (RFC 5280 §5): encode, sign, decode and search them. */
export { type RevocationReason, revocationReasons } from '../revocation-reasons.ts'
export { type CrlEntry, type EncodedEntries, encodeEntries } from './entries.ts'
export { type Crl, crlIsSignedWith, readCrl } from './read.ts'
export type { CrlScope, ReadCrlScope } from './scope.ts'
export { issueCrl, type NewCrl } from './write.ts'
