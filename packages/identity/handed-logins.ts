import { createHash, randomBytes } from 'node:crypto'
import { principalNamed, unauthorized } from '@warder/keys'
import type { Seal } from '@warder/storage'
import { BegunLogins, type LoginCookie, refuseLogin } from './begun-logins.ts'
import { ClientLimiter } from './places.ts'
import type { RoleReader, StoredRoleClaims } from './roles.ts'
import { type HandedSession, SessionsAtAuth, type SessionsAtAuthOptions } from './sessions-at-auth.ts'
import { userName } from './user-name.ts'

/** A user whose session at the authentication service was handed over. When that session ends, so does the one here. */
export interface HandedUser extends Omit<HandedSession, 'claims'> {
  readonly realm: string
  /** Name of the user at this service; `username` is the name in the realm. */
  readonly name: string
  readonly roleClaims: StoredRoleClaims | undefined
}

export interface HandedLoginOptions extends SessionsAtAuthOptions {
  /** The one realm whose users may log in; undefined = every realm. */
  readonly only: string | undefined
  readonly seal: Seal
  readonly roles: RoleReader
}

/** Values that the callback of a login must contain. */
interface Proof {
  readonly state: string
  /** RFC 7636 §4.1. */
  readonly verifier: string
}

/** Logins that may wait for the authentication service at one time. */
const maxWaiting = 32
/** Lifetime of the request, or of the login at an identity provider, and of the code. */
const seconds = 660

/** The cookie of a login that comes back to this path. */
export function createLoginCookie(name: string, path: string): LoginCookie {
  return { name, path, seconds }
}

/**
 * Logins that begin here, continue at the authentication service, and return with a code. That service exchanges the
 * code for the session of the login only together with the verifier, which is in the sealed cookie of the browser that
 * began the login. The session token itself appears in no URL and is not stored.
 */
export class HandedLogins<Memo extends object> {
  readonly auth: SessionsAtAuth
  readonly #options: HandedLoginOptions
  readonly #begun: BegunLogins<Memo & Proof>
  readonly #places = new ClientLimiter(maxWaiting, 'too many logins are waiting')

  constructor(cookie: LoginCookie, options: HandedLoginOptions) {
    this.auth = new SessionsAtAuth(options)
    this.#options = options
    this.#begun = new BegunLogins(cookie, options)
  }

  /** @throws failure('overloaded') when too many logins wait */
  hold<R>(clientAddress: string, work: () => Promise<R>): Promise<R> {
    return this.#places.hold(clientAddress, work)
  }

  /** @param memo what the callback has to know @returns also `Set-Cookie` */
  begin(memo: Memo): { readonly state: string; readonly challenge: string; readonly cookie: string } {
    const state = randomBytes(16).toString('base64url')
    const verifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    return { state, challenge, cookie: this.#begun.begin({ ...memo, state, verifier }) }
  }

  /**
   * @param query query of the redirect from the authentication service
   * @param cookies values of the cookie of `begin`
   * @param realmOf the realm of the login; may refuse it
   * @throws failure('unauthorized' | 'rate_limited' | 'overloaded' | 'auth_unavailable')
   */
  async finish(
    query: URLSearchParams,
    cookies: readonly string[],
    realmOf: (memo: Memo) => string,
    clientAddress: string,
  ): Promise<{ readonly user: HandedUser; readonly memo: Memo }> {
    const begun = await this.#begun.open(cookies)
    const [state, secondState] = query.getAll('state')
    const [code, secondCode] = query.getAll('code')
    if (state !== begun.state || secondState !== undefined) throw refuseLogin('other_login')
    if (code === undefined || secondCode !== undefined || !/^[A-Za-z0-9_-]{16,128}$/.test(code))
      throw unauthorized('the login returned without a code')
    const realm = realmOf(begun)
    const { claims, ...session } = await this.hold(clientAddress, () =>
      this.auth.redeem(realm, { code, verifier: begun.verifier }, clientAddress),
    )
    const { only, roles } = this.#options
    const { name } = principalNamed(userName(realm, session.username, only), 'session')
    const roleClaims = roles.select(name, { kind: 'session', issuer: realm }, claims)
    return { user: { ...session, realm, name, roleClaims }, memo: begun }
  }
}
