export { acsCall, acsUrlOf, samlParams, spEntityIdOf } from './saml-scene.ts'
export { sharedKey, TestIdp } from './test-idp.ts'
