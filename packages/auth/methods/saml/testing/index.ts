export { type Answer, type Client, client } from '../../../testing/client.ts'
export { logoutRequest } from '../logout/messages.ts'
export { acsCall, acsUrlOf, begunLogin, samlParams, spEntityIdOf } from './saml-scene.ts'
export { randomId, sharedKey, signedQuery, TestIdp } from './test-idp.ts'
