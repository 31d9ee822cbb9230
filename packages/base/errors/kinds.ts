/**
 * The closed registry of error kinds. Each row has the HTTP status and one safe sentence that callers receive.
 * Errors of no kind are `internal_error`.
 */
export interface ErrorKindRow {
  readonly status: number
  /** Sentence for the caller when the thrower gave none of its own. Holds no private detail. */
  readonly sentence: string
  /** true: the sentence is always this one, whatever the thrower says (nothing may leak through it). */
  readonly fixed?: true
}

export const errorKinds = {
  bad_request: { status: 400, sentence: 'The request is malformed.' },
  unauthorized: {
    status: 401,

    sentence: 'Authentication is required or did not succeed.',
  },
  forbidden: { status: 403, sentence: 'Access denied.' },
  not_found: { status: 404, sentence: 'Not found.' },
  method_not_allowed: {
    status: 405,

    sentence: 'This path does not support that method.',
  },
  conflict: {
    status: 409,

    sentence: 'The object already exists, or another request changed it first.',
  },
  payload_too_large: {
    status: 413,

    sentence: 'The request body is too large.',
  },
  unsupported_media_type: {
    status: 415,

    sentence: 'The content type of the body is not supported.',
  },
  expectation_failed: {
    status: 417,
    sentence: 'Of the header Expect only 100-continue is supported.',
  },
  unsupported_algorithm: {
    status: 422,

    sentence: 'The algorithm is unknown or not supported.',
  },
  crypto_failure: {
    status: 422,

    sentence: 'The key cannot be used for this: wrong type, size, state or usage.',
  },
  decryption_failed: {
    status: 422,

    sentence: 'Decryption failed.',
    fixed: true,
  },
  rate_limited: {
    status: 429,

    sentence: 'Too many requests: wait and try again.',
  },
  request_timeout: {
    status: 408,

    sentence: 'The request took too long to arrive.',
  },
  headers_too_large: {
    status: 431,

    sentence: 'The request headers are too large.',
  },
  internal_error: {
    status: 500,

    sentence: 'An internal error occurred.',
    fixed: true,
  },
  not_implemented: {
    status: 501,
    sentence: 'This server does not implement that method.',
  },
  certificate_signing_unconfigured: {
    status: 500,

    sentence: 'Certificate signing is not configured on this server.',
    fixed: true,
  },
  bad_gateway: {
    status: 502,
    sentence: 'The upstream service did not respond: try again.',
  },
  overloaded: {
    status: 503,

    sentence: 'The server is busy: wait and try again.',
    fixed: true,
  },
  storage_unavailable: {
    status: 503,

    sentence: 'The database is unavailable: wait and try again.',
    fixed: true,
  },
  audit_unavailable: {
    status: 503,

    sentence: 'The audit record cannot be written, so nothing was done.',
    fixed: true,
  },
} as const satisfies Record<string, ErrorKindRow>

export type ErrorKind = keyof typeof errorKinds
