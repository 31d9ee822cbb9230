export { fromBase32 } from '../base32.ts'
export { createPasswordHasher } from '../methods/password/password-hash.ts'
export { logoutRequest } from '../methods/saml/logout.ts'
export {
  acsCall,
  begunLogin,
  samlParams,
  startSaml,
  toAcsUrl,
  toSpEntityId,
} from '../methods/saml/testing/saml-scene.ts'
export { randomId, sharedKey, signQuery, TestIdp } from '../methods/saml/testing/test-idp.ts'
export { startValidator } from '../methods/saml/testing/validator.ts'
export { codeAt } from '../methods/totp/code.ts'
export { authOperations } from '../operations.ts'
export { Authenticator } from './authenticator.ts'
export { type Answer, type Client, client } from './client.ts'
export { scene } from './scene.ts'
export { peerSecret, startAuth } from './start.ts'
