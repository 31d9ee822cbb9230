import type { ErrorSchema } from './api.gen.ts'

/**
 * Kinds of failed calls: those of the service's registry, and those of the client. `unreachable`: no connection, or
 * an untrusted one; `timeout`: no complete answer in time; `unexpected_reply`: not an answer of this service;
 * `closed`: `close` ended the call, and it is unknown whether it was executed.
 */
export type ClientErrorKind = ErrorSchema['error'] | 'unreachable' | 'timeout' | 'unexpected_reply' | 'closed'

/** A failed call. Contains the error of the service, never a credential or the request. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** A newer service may have kinds that these types lack. */
  readonly kind: ClientErrorKind | (string & {})
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined
  /** Description from the service, for users. */
  readonly description: string
  /** Identifies the request in the logs of the service. */
  readonly requestId: string | undefined
  /** Seconds to wait before the next try, as named by the service. */
  readonly retryAfter: number | undefined
  /** The operation needs the approval of crypto officers: request it with `access.approvals.ask` under this name. */
  readonly approval: string | undefined

  constructor(options: {
    readonly kind: ClientErrorKind | (string & {})
    readonly description: string
    readonly status?: number | undefined
    readonly requestId?: string | undefined
    readonly retryAfter?: number | undefined
    readonly approval?: string | undefined
    readonly cause?: unknown
  }) {
    super(options.description, { cause: options.cause })
    this.kind = options.kind
    this.status = options.status
    this.description = options.description
    this.requestId = options.requestId
    this.retryAfter = options.retryAfter
    this.approval = options.approval
  }
}
