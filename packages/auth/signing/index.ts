export type { PublicJwk } from './es256.ts'
export { registerIssuer, sessionIssuers } from './issuer-store.ts'
export type { SigningPurpose } from './signing-key-store.ts'
export { ensureSigningKey, openSigner, type Signer } from './signing-keys.ts'
