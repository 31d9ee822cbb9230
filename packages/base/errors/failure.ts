import { type ErrorKind, type ErrorKindRow, errorKinds } from './kinds.ts'

export interface FailureOptions {
  /** Goes to the log with the request id; never leaves the process. */
  readonly detail?: string
  readonly cause?: unknown
  /** Whole seconds for `Retry-After` (429, 503). */
  readonly retryAfterSeconds?: number
  /** Extra members of the JSON error body. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Extra response headers, e.g. `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The only error whose sentence is sent to callers. Thrown with a kind of the registry and one safe sentence. */
export class Failure extends Error {
  readonly kind: ErrorKind
  readonly status: number
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly members: Readonly<Record<string, unknown>> | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(kind: ErrorKind, sentence?: string, options: FailureOptions = {}) {
    const row: ErrorKindRow = errorKinds[kind]
    super(row.fixed === true || sentence === undefined ? row.sentence : sentence, { cause: options.cause })
    this.name = 'Failure'
    this.kind = kind
    this.status = row.status
    this.detail = options.detail ?? (row.fixed === true ? sentence : undefined)
    this.retryAfterSeconds = options.retryAfterSeconds
    this.members = options.members
    this.headers = options.headers
  }
}

/**
 * Makes a failure to throw: `throw failure('not_found', 'Key not found.')`.
 * For kinds with a fixed sentence the sentence given here is the private detail instead.
 */
export function failure(kind: ErrorKind, sentence?: string, options?: FailureOptions): Failure {
  return new Failure(kind, sentence, options)
}

/** Converts a thrown value to the failure that is sent to the caller: everything but a Failure becomes `internal_error`. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  return new Failure('internal_error', undefined, {
    detail: thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown),
    cause: thrown,
  })
}

/** A start that cannot continue: one line on the terminal, exit code 1. Never sent over the network. */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}
