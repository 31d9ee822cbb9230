export { createIdentityProviders, type IdentityProviders } from './identity-providers.ts'
export { loginOperations } from './operations.ts'
