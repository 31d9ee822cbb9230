export { type Answer, type Client, client } from '../../../testing/client.ts'
export { acsCall, acsUrlOf, begunLogin, samlParams, spEntityIdOf } from './saml-scene.ts'
export { sharedKey, TestIdp } from './test-idp.ts'
