export { authProxyRoutes, type Forward, forwarder } from './auth-proxy/routes.ts'
export { authenticateBy, type Credential } from './cascade.ts'
export {
  checkIdentity,
  configuredDirectory,
  configuredFeed,
  configuredLogin,
  configuredOidc,
  configuredProxy,
  configuredSaml,
  configuredSteps,
  createHandoverLogin,
  findAuthPublicUrl,
  type IdentityConfig,
  unusableProvider,
} from './configured.ts'
export type { Directory } from './directory.ts'
export { sweepEndedSessions } from './ended-session-store.ts'
export type { HandedUser } from './handed-logins.ts'
export {
  endedHandoverCookie,
  type HandoverLogin,
  handoverCallbackPath,
  handoverCookieName,
} from './handover-login.ts'
export { refuseHalfMethods, warnOfMethods } from './methods.ts'
export { endedLoginCookie, loginCookieName, type OidcLogin } from './oidc.ts'
export type { PasswordLogin } from './password-login.ts'
export {
  createEndedWriter,
  type Ended,
  readEnded,
  readSharedMemory,
  shareEnded,
  shareNothing,
} from './revocations/ended.ts'
export { type CredentialSet, type EndedName, type Follower, follow } from './revocations/follower.ts'
export { endedSamlCookie, type SamlLogin, samlCallbackPath, samlCookieName } from './saml-login.ts'
export { identitySchemes, listSchemes } from './security-schemes.ts'
export { endedSessionCookie, openSessions, sessionCookie, sessionCookieName } from './session-cookie.ts'
export { isNameOfRealm, userName } from './user-name.ts'
