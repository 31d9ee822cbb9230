import { createHash, randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import type { Seal } from '@warder/storage'
import { BegunLogins, clearCookie, type LoginCookie } from './begun-logins.ts'
import { ClientLimiter } from './places.ts'
import type { RoleReader, StoredRoleClaims } from './roles.ts'
import { type HandedSession, SamlAtAuth, type SamlAtAuthOptions } from './saml-at-auth.ts'
import { isRealmId, userName } from './user-name.ts'

/** A user logged in at the identity provider of a realm. When the session at the authentication service ends, so does this. */
export interface SamlUser extends Omit<HandedSession, 'claims'> {
  readonly realm: string
  /** Name of the user at this service; `username` is the name in the realm. */
  readonly name: string
  readonly roleClaims: StoredRoleClaims | undefined
}

/** Logins for the web page at the identity provider of a realm, through the authentication service. */
export interface SamlLogin {
  /** Realms for the login page. @returns ids of realms; none if the authentication service does not disclose them */
  realms(clientAddress: string): Promise<readonly string[]>
  /**
   * Begins a login: the URL to which the browser is redirected, and the cookie that it sends back.
   * @throws failure('not_found') for a realm whose users do not log in here in this way; failure('overloaded')
   */
  begin(realm: string, clientAddress: string): Promise<{ readonly location: string; readonly cookie: string }>
  /**
   * @param query query of the redirect from the authentication service
   * @param cookies values of the cookie of `begin`
   * @throws failure('unauthorized' | 'rate_limited' | 'overloaded')
   */
  finish(query: URLSearchParams, cookies: readonly string[], clientAddress: string): Promise<SamlUser>
  /**
   * Ends the session at the authentication service.
   * @throws failure('rate_limited' | 'overloaded')
   */
  end(
    session: { readonly realm: string; readonly logoutHandle: string },
    clientAddress: string,
  ): Promise<void>
}

export interface SamlLoginOptions extends SamlAtAuthOptions {
  /** The one realm whose users may log in; undefined = every realm. */
  readonly only: string | undefined
  /** Public address of this service. */
  readonly publicUrl: string
  readonly seal: Seal
  readonly roles: RoleReader
}

export const samlCookieName = 'auth_saml'
export const samlCallbackPath = '/ui/saml_callback'
/** A login may take 600 seconds at the identity provider, and the code waits for a minute. */
const cookie: LoginCookie = { name: samlCookieName, path: samlCallbackPath, seconds: 660 }
export const endedSamlCookie = clearCookie(cookie)
/** Logins that may wait for the authentication service at one time. */
const maxWaiting = 32

/** Values that the callback of a login must contain. */
interface Started {
  readonly realm: string
  readonly state: string
  /** RFC 7636 §4.1. */
  readonly verifier: string
}

/**
 * The authentication service sends the browser a code, and exchanges it for the session of the login only together with
 * the verifier, which is in the sealed cookie of the browser that began the login. The session token itself appears in
 * no URL and is not stored.
 */
export function samlLogin(options: SamlLoginOptions): SamlLogin {
  const { only, publicUrl, roles } = options
  const callback = `${publicUrl.replace(/\/+$/, '')}${samlCallbackPath}`
  const auth = new SamlAtAuth(options)
  const begun = new BegunLogins<Started>(cookie, options)
  const places = new ClientLimiter(maxWaiting, 'too many logins are waiting')

  const offers = async () =>
    (await auth.offers(callback))?.filter(({ realm_id }) => only === undefined || realm_id === only)

  async function loginUrl(realm: string): Promise<string> {
    const notHere = failure('not_found', 'Users of this realm cannot log in here with an identity provider.')
    if (!isRealmId(realm) || (only !== undefined && realm !== only)) throw notHere
    const told = await offers()
    if (told === undefined) return auth.defaultLoginUrl(realm)
    const offer = told.find(({ realm_id }) => realm_id === realm)
    if (offer === undefined) throw notHere
    return offer.login_url
  }

  return {
    realms: (clientAddress) =>
      places.hold(clientAddress, async () => (await offers())?.map(({ realm_id }) => realm_id) ?? []),
    begin: (realm, clientAddress) =>
      places.hold(clientAddress, async () => {
        const url = await loginUrl(realm)
        const started: Started = {
          realm,
          state: randomBytes(16).toString('base64url'),
          verifier: randomBytes(32).toString('base64url'),
        }
        const query = new URLSearchParams({
          return_to: callback,
          state: started.state,
          code_challenge: createHash('sha256').update(started.verifier).digest('base64url'),
        })
        return { location: `${url}?${query}`, cookie: begun.begin(started) }
      }),
    async finish(query, cookies, clientAddress) {
      const { realm, state: wanted, verifier } = await begun.open(cookies)
      const [state, secondState] = query.getAll('state')
      const [code, secondCode] = query.getAll('code')
      if (state !== wanted || secondState !== undefined)
        throw unauthorized('this browser has started another login')
      if (code === undefined || secondCode !== undefined || !/^[A-Za-z0-9_-]{16,128}$/.test(code))
        throw unauthorized('the login returned without a code')
      const { claims, ...session } = await places.hold(clientAddress, () =>
        auth.redeem(realm, { code, verifier }, clientAddress),
      )
      const { name } = principalNamed(userName(realm, session.username, only), 'session')
      return {
        ...session,
        realm,
        name,
        roleClaims: roles.select(name, { kind: 'session', issuer: realm }, claims),
      }
    },
    end: ({ realm, logoutHandle }, clientAddress) =>
      places.hold(clientAddress, () => auth.end(realm, logoutHandle, clientAddress)),
  }
}
