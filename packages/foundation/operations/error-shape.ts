import type { TSchema } from 'typebox'
import type { Failure } from '../errors/index.ts'
import type { IncomingRequest, RawReply } from './types.ts'

/** The part of a failure that callers may read; its private detail and its cause are not theirs. */
export type ToldFailure = Pick<Failure, 'kind' | 'status' | 'message' | 'members' | 'retryAfterSeconds'>

/**
 * How an operation tells failures. It covers every failure of the request: of the handler, and those before it (rate
 * limit, head, credentials, body). Paths below the operation that nothing answers have its shape too.
 */
export interface ErrorShape {
  /** The body in openapi.yaml; undefined: the usual one, `Error`. */
  readonly documented?: { readonly contentType: string; readonly schema?: TSchema }
  /**
   * The reply; its status, where it names one, must be an error (400 or more). `Retry-After`, `Allow` and
   * `WWW-Authenticate` are added unless its headers have them. Whatever it throws is told in the usual shape.
   */
  reply(failure: ToldFailure, request: IncomingRequest): RawReply
}

/** The usual error body; 5xx carry the request id, by which the operator finds the private detail in the log. */
export function errorBody(failure: ToldFailure, requestId: string): Readonly<Record<string, unknown>> {
  const { kind, status, message, members } = failure
  const body: Record<string, unknown> = { ...members, error: kind, description: message }
  if (status >= 500) body.request_id = requestId
  return body
}
