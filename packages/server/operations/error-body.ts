import type { PublicError } from './types.ts'

/** The usual error body; 5xx carry the request id, by which the operator finds the private detail in the log. */
export function errorBody(failure: PublicError, requestId: string): Readonly<Record<string, unknown>> {
  const { kind, status, message, members } = failure
  const body: Record<string, unknown> = { ...members, error: kind, description: message }
  if (status >= 500) body.request_id = requestId
  return body
}
