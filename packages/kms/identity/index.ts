export { appToken } from './app-token.ts'
export { authenticateBy, type CascadeOptions } from './cascade.ts'
export { clientCertificates } from './client-certificate.ts'
export {
  configuredFeed,
  configuredLogin,
  configuredOidc,
  configuredProxy,
  configuredSteps,
  type IdentityConfig,
} from './configured.ts'
export { bearerToken, type Extractor, principalNamed, unauthorized } from './extractor.ts'
export type { JwtProvider } from './jwt-provider.ts'
export { endedLoginCookie, loginCookieName, type OidcLogin } from './oidc.ts'
export type { LoginUser, PasswordLogin } from './password-login.ts'
export { Places } from './places.ts'
export { endedSessionCookie, sessionCookie, sessionCookieName, sessionEnds } from './session-cookie.ts'
export { userName } from './user-name.ts'
