export type { PublicJwk } from './es256.ts'
export { longestToken } from './es256.ts'
export { registerIssuer, sessionIssuers } from './issuer-store.ts'
export { ensureSigningKey, openSigner, type Signer, type SigningPurpose } from './signing-keys.ts'
