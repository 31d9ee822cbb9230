import { failure } from '@warder/base'
import { unauthorized } from '@warder/keys'
import { clearCookie } from './begun-logins.ts'
import { createLoginCookie, type HandedLoginOptions, HandedLogins, type HandedUser } from './handed-logins.ts'
import { isRealmId } from './user-name.ts'

/** Logins for the web page with the session that the browser has, or begins, at the authentication service. */
export interface HandoverLogin {
  /**
   * Requests a hand-over: the URL to which the browser is redirected, and the cookie that it sends back.
   * @param options `to` is the path to which the browser goes after the login; `host` is the header `Host`
   * @throws failure('rate_limited' | 'overloaded' | 'auth_unavailable')
   */
  begin(
    options: { readonly to: string; readonly host: string | undefined },
    clientAddress: string,
  ): Promise<{ readonly location: string; readonly cookie: string }>
  /**
   * @param query query of the redirect from the authentication service
   * @param cookies values of the cookie of `begin`
   * @returns also the path that was given to `begin`
   * @throws failure('unauthorized' | 'forbidden' | 'rate_limited' | 'overloaded' | 'auth_unavailable')
   */
  finish(
    query: URLSearchParams,
    cookies: readonly string[],
    clientAddress: string,
  ): Promise<{ readonly user: HandedUser; readonly to: string }>
}

export interface HandoverLoginOptions extends HandedLoginOptions {
  /** Addresses of this service for browsers; one that reaches it by another of them returns there. */
  readonly publicUrls: readonly [string, ...string[]]
  /** Address of the authentication service for browsers. */
  readonly authPublicUrl: string
}

export const handoverCookieName = 'auth_handover'
export const handoverCallbackPath = '/ui/handover_callback'
const cookie = createLoginCookie(handoverCookieName, handoverCallbackPath)
export const endedHandoverCookie = clearCookie(cookie)

/** See `HandedLogins`. */
export function handoverLogin(options: HandoverLoginOptions): HandoverLogin {
  const { only, publicUrls, authPublicUrl } = options
  const logins = new HandedLogins<{ readonly to: string }>(cookie, options)

  /** Cookies belong to a host name, so the browser returns to the one that it used. */
  function findReturnUrl(host: string | undefined): string {
    const used = publicUrls.find((url) => new URL(url).host === host?.toLowerCase())
    return `${used ?? publicUrls[0]}${handoverCallbackPath}`
  }

  /** @throws failure('unauthorized' | 'forbidden') */
  function readRealm(query: URLSearchParams): string {
    const [realm, second] = query.getAll('realm')
    if (realm === undefined || second !== undefined || !isRealmId(realm))
      throw unauthorized('the login returned without a realm')
    if (only === undefined || realm === only) return realm
    throw failure('forbidden', 'Users of this realm cannot log in here: this service accepts another realm.')
  }

  return {
    begin: ({ to, host }, clientAddress) =>
      logins.hold(clientAddress, async () => {
        const { cookie: begun, ...proof } = logins.begin({ to })
        const request = await logins.auth.requestHandover(
          { ...proof, returnTo: findReturnUrl(host) },
          clientAddress,
        )
        const query = new URLSearchParams({ request })
        return { location: `${authPublicUrl}/ui/handover?${query}`, cookie: begun }
      }),
    async finish(query, cookies, clientAddress) {
      const { user, memo } = await logins.finish(query, cookies, () => readRealm(query), clientAddress)
      return { user, to: memo.to }
    },
  }
}
