import { type Failure, failure } from '@warder/base'
import { JwtRejected } from '@warder/server'

export type TokenName = 'authentication' | 'authorization'

/** The one answer to every token that is not accepted; why is for the log. */
function rejectToken(token: TokenName, detail: string, cause?: unknown): Failure {
  return failure('unauthorized', `The ${token} token is not accepted.`, {
    detail: `${token}: ${detail}`,
    cause,
  })
}

/** The same, for an error that a verification threw. @returns any other error unchanged */
export function asRejected(token: TokenName, error: unknown): unknown {
  return error instanceof JwtRejected ? rejectToken(token, error.message, error) : error
}
