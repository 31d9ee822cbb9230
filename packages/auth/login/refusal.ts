import { type Failure, failure } from '@warder/foundation/errors'

/** The secret that an attempt tested: an attacker could learn whether the password or the code was right. */
export type Guess = 'password' | 'code'

/**
 * A login that was refused. Every caller gets the same answer, `refusal`; the reason is for the audit log.
 * Without a guess the attempt told the caller nothing, and counts for no throttle.
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
/** Something that was proved did not hold any more when the session was to be committed. */
export const credentialChanged = () => new LoginRefused('credential_changed')

/**
 * The one answer to every failed login.
 * @param fromPage the request came from a page: a browser would answer the challenge `Basic` with a dialog of its own,
 *   and keep the page waiting (Fetch §4.6)
 */
export function refusal(fromPage: boolean): Failure {
  const challenge = { 'WWW-Authenticate': 'Basic realm="login", charset="UTF-8"' }
  return failure('unauthorized', 'The credentials are missing or not valid.', {
    headers: fromPage ? {} : challenge,
  })
}
