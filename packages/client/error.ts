import type { ErrorSchema } from './api.gen.ts'

/**
 * Why a call did not succeed: a kind of the service's registry, or one of the client's own. `unreachable`: no
 * connection, or one that is not trusted; `timeout`: no whole answer in time; `unexpected_reply`: not an answer of
 * this service; `closed`: `close` ended it, and nobody knows whether it was carried out.
 */
export type ClientErrorKind = ErrorSchema['error'] | 'unreachable' | 'timeout' | 'unexpected_reply' | 'closed'

/** A call that did not succeed. Holds what the service said, never a credential or the request. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** A newer service may know kinds that these types do not. */
  readonly kind: ClientErrorKind | (string & {})
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined
  /** The service's sentence for people. */
  readonly description: string
  /** Finds the request in the service's logs. */
  readonly requestId: string | undefined
  /** Seconds that the service asks to wait before the next try. */
  readonly retryAfter: number | undefined

  constructor(options: {
    readonly kind: ClientErrorKind | (string & {})
    readonly description: string
    readonly status?: number | undefined
    readonly requestId?: string | undefined
    readonly retryAfter?: number | undefined
    readonly cause?: unknown
  }) {
    super(options.description, { cause: options.cause })
    this.kind = options.kind
    this.status = options.status
    this.description = options.description
    this.requestId = options.requestId
    this.retryAfter = options.retryAfter
  }
}
