export { appToken } from './app-token.ts'
export { authenticateBy, type CascadeOptions, type Credential } from './cascade.ts'
export { clientCertificates } from './client-certificate.ts'
export {
  checkIdentity,
  configuredDirectory,
  configuredFeed,
  configuredLogin,
  configuredOidc,
  configuredProxy,
  configuredSaml,
  configuredSteps,
  type IdentityConfig,
  unusableProvider,
} from './configured.ts'
export type { Directory } from './directory.ts'
export type { Extractor } from './extractor.ts'
export type { JwtProvider } from './jwt-provider.ts'
export { endedLoginCookie, loginCookieName, type OidcLogin } from './oidc.ts'
export type { LoginUser, PasswordLogin } from './password-login.ts'
export { ClientLimiter } from './places.ts'
export {
  endedSamlCookie,
  type SamlLogin,
  samlCallbackPath,
  samlCookieName,
} from './saml-login.ts'
export { identitySchemes, listSchemes } from './security-schemes.ts'
export { endedSessionCookie, openSessions, sessionCookie, sessionCookieName } from './session-cookie.ts'
export { isNameOfRealm, userName } from './user-name.ts'
