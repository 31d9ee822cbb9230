import { CodedError } from '@warder/base'
import { ClientError } from '@warder/client'

/** Kinds of failures that the API server distinguishes. */
export type RefusedKind = 'invalid' | 'denied' | 'not_found' | 'busy' | 'unavailable' | 'internal'

/** A failed call. The API server logs its message, which must not contain a secret. */
export class Refused extends CodedError<RefusedKind> {
  override readonly name = 'Refused'
}

const kinds: Readonly<Record<string, RefusedKind>> = {
  unreachable: 'unavailable',
  timeout: 'unavailable',
  closed: 'unavailable',
  unexpected_reply: 'unavailable',
  unauthorized: 'denied',
  forbidden: 'denied',
  not_found: 'not_found',
  rate_limited: 'busy',
  overloaded: 'busy',
  bad_request: 'invalid',
  decryption_failed: 'invalid',
  crypto_failure: 'invalid',
}

const hints: Readonly<Record<string, string>> = {
  not_found: ' Check --key, and that the machine has the rights encrypt and decrypt on it.',
  forbidden: ' Grant the machine encrypt and decrypt: warder access grant --help.',
  unauthorized: ' Check that the service accepts machine tokens (vault_auth_verifier_url).',
}

/** Converts an error of the key management service, or of the connection to it. */
export function toProviderError(error: unknown): Refused {
  if (error instanceof Refused) return error
  if (!(error instanceof ClientError)) throw error
  const kind = kinds[error.kind] ?? ((error.status ?? 500) >= 500 ? 'unavailable' : 'internal')
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`
  const hint = hints[error.kind] ?? ''
  return new Refused(kind, `the key management service: ${error.description}${hint}${request}`, {
    cause: error,
  })
}
