import { failure } from '@warder/base'
import { clearCookie } from './begun-logins.ts'
import { createLoginCookie, type HandedLoginOptions, HandedLogins, type HandedUser } from './handed-logins.ts'
import { isRealmId } from './user-name.ts'

/** Logins for the web page at the identity provider of a realm, through the authentication service. */
export interface SamlLogin {
  /** Realms for the login page. @returns ids of realms; none if the authentication service does not disclose them */
  realms(clientAddress: string): Promise<readonly string[]>
  /**
   * Begins a login: the URL to which the browser is redirected, and the cookie that it sends back.
   * @throws failure('not_found') for a realm whose users do not log in here in this way; failure('overloaded' |
   *   'auth_unavailable')
   */
  begin(realm: string, clientAddress: string): Promise<{ readonly location: string; readonly cookie: string }>
  /**
   * @param query query of the redirect from the authentication service
   * @param cookies values of the cookie of `begin`
   * @throws failure('unauthorized' | 'rate_limited' | 'overloaded' | 'auth_unavailable')
   */
  finish(query: URLSearchParams, cookies: readonly string[], clientAddress: string): Promise<HandedUser>
  /**
   * Ends the session at the authentication service.
   * @throws failure('rate_limited' | 'overloaded' | 'auth_unavailable')
   */
  end(
    session: { readonly realm: string; readonly logoutHandle: string },
    clientAddress: string,
  ): Promise<void>
}

export interface SamlLoginOptions extends HandedLoginOptions {
  /** Public address of this service. */
  readonly publicUrl: string
}

export const samlCookieName = 'auth_saml'
export const samlCallbackPath = '/ui/saml_callback'
const cookie = createLoginCookie(samlCookieName, samlCallbackPath)
export const endedSamlCookie = clearCookie(cookie)

/** See `HandedLogins`. */
export function samlLogin(options: SamlLoginOptions): SamlLogin {
  const { only, publicUrl } = options
  const callback = `${publicUrl.replace(/\/+$/, '')}${samlCallbackPath}`
  const logins = new HandedLogins<{ readonly realm: string }>(cookie, options)
  const { auth } = logins

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
      logins.hold(clientAddress, async () => (await offers())?.map(({ realm_id }) => realm_id) ?? []),
    begin: (realm, clientAddress) =>
      logins.hold(clientAddress, async () => {
        const url = await loginUrl(realm)
        const begun = logins.begin({ realm })
        const query = new URLSearchParams({
          return_to: callback,
          state: begun.state,
          code_challenge: begun.challenge,
        })
        return { location: `${url}?${query}`, cookie: begun.cookie }
      }),
    finish: async (query, cookies, clientAddress) =>
      (await logins.finish(query, cookies, ({ realm }) => realm, clientAddress)).user,
    end: ({ realm, logoutHandle }, clientAddress) =>
      logins.hold(clientAddress, () => auth.end(realm, logoutHandle, clientAddress)),
  }
}
