import { type ErrorKind, failure } from '@warder/base'
import { PkiError, type PkiErrorCode } from '@warder/pki'

/** Error kinds for callers, for the errors of @warder/pki. */
const kinds: Readonly<Record<PkiErrorCode, ErrorKind>> = {
  malformed: 'bad_request',
  invalid_value: 'bad_request',
  invalid_key: 'bad_request',
  unsupported_key: 'unsupported_algorithm',
  unsupported_protection: 'unsupported_algorithm',
  wrong_password: 'bad_request',
  invalid_request: 'bad_request',
  cannot_sign: 'crypto_failure',
}

/** Calls a function that reads or writes PKI structures of a caller. @throws Failure in place of PkiError */
export function withPkiFailures<R>(run: () => R): R {
  try {
    const result = run()
    return result instanceof Promise ? (result.catch(throwPublicFailure) as R) : result
  } catch (error) {
    return throwPublicFailure(error)
  }
}

function throwPublicFailure(error: unknown): never {
  if (error instanceof PkiError) throw failure(kinds[error.code], error.message, { cause: error })
  throw error
}
