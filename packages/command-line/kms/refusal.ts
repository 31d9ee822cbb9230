import { errorKinds, StartupError } from '@warder/base'
import { ClientError } from '@warder/client'
import { formatReason, getConnectionHint } from '../login/exchange.ts'
import { printable } from '../terminal/table.ts'

/** Advice after a refusal, if the kind alone determines it. */
const advice: Readonly<Record<string, string>> = {
  unauthorized:
    'Check that the token is still valid and that the service accepts its realm (auth_verifier_realm).',
  forbidden: 'The owner can grant the right: warder access grant --help.',
}

/** A more specific message than `Access denied.` needs no advice. */
function getAdvice({ kind, description }: ClientError): string | undefined {
  if (kind === 'not_found' && description === 'There is nothing at this path.')
    return 'Check that this is the address of the key management service.'
  const saysMore = kind === 'forbidden' && description !== errorKinds.forbidden.sentence
  return saysMore ? undefined : advice[kind]
}

/** Converts an error to one line for the user, without control characters from the service. */
export function toUserError(error: unknown): unknown {
  if (error instanceof ClientError) return new StartupError(formatClientError(error), { cause: error })
  return error
}

/** Formats an error of the service as one line, with the request id for its logs. */
export function formatClientError(error: ClientError, hint = getAdvice(error)): string {
  const { kind, status, description, requestId, retryAfter } = error
  if (status === undefined) {
    return printable(`the key management service: ${formatReason(error)}${getConnectionHint(error.cause)}`)
  }
  const later = retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`
  const request = requestId === undefined ? '' : `, request ${requestId}`
  return printable(`${description}${later}${hint === undefined ? '' : ` ${hint}`} (${kind}${request})`)
}

/**
 * Runs a call about one key, and adds the id of the key to errors, after `whatKey`, as in `the key of the file`.
 */
export async function withKeyErrors<R>(whatKey: string, kid: string, call: () => Promise<R>): Promise<R> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof ClientError) || error.status === undefined) throw error
    const missing = 'The key does not exist, was destroyed, or you have no right on it.'
    // A more specific message, such as `The key has no version 9.`, needs no advice.
    const isMissing = error.kind === 'not_found' && /not found\.$/.test(error.description)
    const hint = isMissing ? missing : getAdvice(error)
    throw new StartupError(`${whatKey} ${printable(kid)}: ${formatClientError(error, hint)}`, {
      cause: error,
    })
  }
}
