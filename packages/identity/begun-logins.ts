import { type Clock, type Failure, failure } from '@warder/base'
import type { Seal, SealContext } from '@warder/storage'

/** The cookie of a login that a browser begins here and continues at another site. */
export interface LoginCookie {
  readonly name: string
  /** Path to which the browser comes back; the cookie is sent only there. */
  readonly path: string
  /** Maximum duration of the login. */
  readonly seconds: number
}

const maxCookieLength = 2048

/** Why a login that came back is refused: what the browser itself knows, so that nothing is disclosed. */
type LoginProblem = 'not_started' | 'expired' | 'other_login'

const problemDetails: Readonly<Record<LoginProblem, string>> = {
  not_started: 'this browser has not started a login',
  expired: 'the login has expired',
  other_login: 'this browser has started another login',
}

/** 401 with the member `problem`. */
export function refuseLogin(problem: LoginProblem, cause?: unknown): Failure {
  return failure('unauthorized', undefined, { detail: problemDetails[problem], members: { problem }, cause })
}

/**
 * Pending logins of browsers. The state that the callback must match is sealed in the browser's own cookie, so that no
 * other browser can finish the login.
 */
export class BegunLogins<State extends object> {
  readonly #cookie: LoginCookie
  readonly #seal: Seal
  readonly #clock: Clock
  readonly #place: SealContext

  constructor(cookie: LoginCookie, { seal, clock }: { readonly seal: Seal; readonly clock: Clock }) {
    this.#cookie = cookie
    this.#seal = seal
    this.#clock = clock
    this.#place = { table: cookie.name, row: 'cookie', column: 'value' }
  }

  /** @returns `Set-Cookie` */
  begin(state: State): string {
    const until = this.#clock.now() + this.#cookie.seconds * 1000
    const sealed = this.#seal.seal(this.#place, Buffer.from(JSON.stringify({ ...state, until })))
    return setCookie(this.#cookie, Buffer.from(sealed).toString('base64url'), this.#cookie.seconds)
  }

  /**
   * The login that a browser comes back from.
   * @param values of the cookie
   * @throws failure('unauthorized')
   */
  async open(values: readonly string[]): Promise<State> {
    const [value, second] = values
    if (value === undefined || value === '' || second !== undefined || value.length > maxCookieLength)
      throw refuseLogin('not_started')
    const { until, ...state } = await this.#opened(value)
    if (this.#clock.now() >= until) throw refuseLogin('expired')
    return state as unknown as State
  }

  async #opened(value: string): Promise<State & { readonly until: number }> {
    try {
      const bytes = await this.#seal.open(this.#place, Buffer.from(value, 'base64url'))
      return JSON.parse(Buffer.from(bytes).toString('utf8'))
    } catch (cause) {
      throw refuseLogin('not_started', cause)
    }
  }
}

/** `Set-Cookie` that removes the cookie of a login. */
export function clearCookie(cookie: LoginCookie): string {
  return setCookie(cookie, '', 0)
}

function setCookie({ name, path }: LoginCookie, value: string, seconds: number): string {
  // Lax, since the browser comes back from another site.
  return `${name}=${value}; Path=${path}; HttpOnly; Secure; SameSite=Lax; Max-Age=${seconds}`
}
