export { apiToken } from './api-token.ts'
export { appToken } from './app-token.ts'
export { authVerifier } from './auth-verifier.ts'
export { authenticateBy, type CascadeOptions } from './cascade.ts'
export { clientCertificates } from './client-certificate.ts'
export {
  configuredLogin,
  configuredOidc,
  configuredProxy,
  configuredSteps,
  type IdentityConfig,
} from './configured.ts'
export { bearerToken, type Extractor, looksLikeJwt, principalNamed, unauthorized } from './extractor.ts'
export { type JwtProvider, jwtProviders, keySetAt, readProvider } from './jwt-provider.ts'
export { endedLoginCookie, loginCookieName, type OidcLogin, oidcLogin } from './oidc.ts'
export { type PasswordLogin, passwordLogin } from './password-login.ts'
export { Places } from './places.ts'
export {
  endedSessionCookie,
  sessionCookie,
  sessionCookieName,
  sessionEnds,
  sessionExtractor,
} from './session-cookie.ts'
