import { type Failure, failure } from '@warder/foundation/errors'

/** Why a login failed, for the audit log only: the caller reads the same answer for each. */
export type RefusalReason =
  | 'no_credentials'
  | 'malformed_credentials'
  | 'unknown_realm'
  | 'method_not_enabled'
  | 'unknown_user'
  | 'wrong_password'
  | 'invalid_token'
  | 'subject_of_another_provider'
  | 'certificate_not_verified'
  | 'certificate_not_allowed'
  | 'wrong_totp_code'
  | 'credential_changed'

/** A login that was refused. It is a `Failure` for the caller, and carries the reason to the audit log. */
export class LoginRefused extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason) {
    super(reason)
    this.name = 'LoginRefused'
    this.reason = reason
  }
}

/** The one answer to every failed login. */
export function refusal(): Failure {
  return failure('unauthorized', 'The credentials are missing or not valid.', {
    headers: { 'WWW-Authenticate': 'Basic realm="login", charset="UTF-8"' },
  })
}
