import { type Failure, failure } from '@warder/base'

/** The secret that an attempt tested, of which the result tells an attacker whether it was right. */
export type Guess = 'password' | 'code'

/**
 * A refused login. Every caller gets the same answer, `refusal`; the reason is for the audit log. Without a guess the
 * attempt disclosed nothing to the caller and does not count for the throttle.
 */
export class LoginRefused extends Error {
  /** In the style of `wrong_password`. */
  readonly reason: string
  readonly guess: Guess | undefined

  constructor(reason: string, guess?: Guess) {
    super(reason)
    this.name = 'LoginRefused'
    this.reason = reason
    this.guess = guess
  }
}

/** Refusals of every method. */
export const unknownRealm = () => new LoginRefused('unknown_realm', 'password')
export const methodNotEnabled = () => new LoginRefused('method_not_enabled', 'password')
/** A proof no longer held when the session was committed. */
export const credentialChanged = () => new LoginRefused('credential_changed')

/**
 * The single answer to every failed login.
 * @param fromPage the request came from a web page: a browser would show its own dialog for the challenge `Basic` and
 *   keep the page waiting (Fetch §4.6)
 */
export function refusal(fromPage: boolean): Failure {
  const challenge = { 'WWW-Authenticate': 'Basic realm="login", charset="UTF-8"' }
  return failure('unauthorized', 'The credentials are missing or not valid.', {
    headers: fromPage ? {} : challenge,
  })
}
