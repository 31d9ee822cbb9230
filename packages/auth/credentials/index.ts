export {
  type Credential,
  CredentialInput,
  CredentialReply,
  hashOf,
  readCredential,
  showCredential,
} from './credential.ts'
export {
  credentialInsertion,
  credentialRemoval,
  credentialUnchanged,
  credentialUpdate,
  findCredential,
  listCredentials,
} from './credential-store.ts'
export { createPasswordHasher, hashOwner, isAcceptedHash, type PasswordHasher } from './password-hash.ts'
export {
  checkChosenPassword,
  initialPasswordProblem,
  longestPassword,
  normalPassword,
  passwordPolicyOf,
} from './password-rules.ts'
export { checkExtraClaims, reservedClaims, sessionClaims } from './reserved-claims.ts'
export {
  checkNewUsername,
  checkUsername,
  foldedName,
  isNewUsername,
  isUsername,
  Username,
} from './username.ts'
