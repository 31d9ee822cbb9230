/**
 * The closed registry of error kinds. Everything a caller can be told is a row here: the HTTP status, the KMIP
 * result reason (KMIP 2.1 §11.48) and one safe sentence. What is not in the registry is `internal_error`.
 */
export interface ErrorKindRow {
  readonly status: number
  readonly kmipReason: string
  /** What the caller reads when the thrower gave no sentence of its own. Holds no private detail. */
  readonly sentence: string
  /** true: the sentence is always this one, whatever the thrower says (nothing may leak through it). */
  readonly fixed?: true
}

export const errorKinds = {
  bad_request: { status: 400, kmipReason: 'InvalidMessage', sentence: 'The request is malformed.' },
  unauthorized: {
    status: 401,
    kmipReason: 'AuthenticationNotSuccessful',
    sentence: 'Authentication is required or did not succeed.',
  },
  forbidden: { status: 403, kmipReason: 'PermissionDenied', sentence: 'Access denied.' },
  not_found: { status: 404, kmipReason: 'ItemNotFound', sentence: 'Not found.' },
  method_not_allowed: {
    status: 405,
    kmipReason: 'OperationNotSupported',
    sentence: 'This path does not answer that method.',
  },
  conflict: {
    status: 409,
    kmipReason: 'ObjectAlreadyExists',
    sentence: 'It exists already, or somebody else changed it first.',
  },
  payload_too_large: {
    status: 413,
    kmipReason: 'InvalidMessage',
    sentence: 'The request body is too large.',
  },
  unsupported_media_type: {
    status: 415,
    kmipReason: 'InvalidMessage',
    sentence: 'The content type of the body is not supported here.',
  },
  unsupported_algorithm: {
    status: 422,
    kmipReason: 'UnsupportedCryptographicParameters',
    sentence: 'The algorithm is unknown or not supported here.',
  },
  crypto_failure: {
    status: 422,
    kmipReason: 'CryptographicFailure',
    sentence: 'The key cannot be used for this: wrong type, size, state or usage.',
  },
  decryption_failed: {
    status: 422,
    kmipReason: 'CryptographicFailure',
    sentence: 'Decryption failed.',
    fixed: true,
  },
  rate_limited: {
    status: 429,
    kmipReason: 'PermissionDenied',
    sentence: 'Too many requests: wait and try again.',
  },
  request_timeout: {
    status: 408,
    kmipReason: 'InvalidMessage',
    sentence: 'The request took too long to arrive.',
  },
  headers_too_large: {
    status: 431,
    kmipReason: 'InvalidMessage',
    sentence: 'The request headers are too large.',
  },
  internal_error: {
    status: 500,
    kmipReason: 'GeneralFailure',
    sentence: 'An internal error occurred.',
    fixed: true,
  },
  certificate_signing_unconfigured: {
    status: 500,
    kmipReason: 'GeneralFailure',
    sentence: 'Certificate signing is not configured on this server.',
    fixed: true,
  },
  overloaded: {
    status: 503,
    kmipReason: 'GeneralFailure',
    sentence: 'The server is busy: wait and try again.',
    fixed: true,
  },
  storage_unavailable: {
    status: 503,
    kmipReason: 'GeneralFailure',
    sentence: 'The database cannot be used now: wait and try again.',
    fixed: true,
  },
  audit_unavailable: {
    status: 503,
    kmipReason: 'GeneralFailure',
    sentence: 'The audit record cannot be written, so nothing was done.',
    fixed: true,
  },
} as const satisfies Record<string, ErrorKindRow>

export type ErrorKind = keyof typeof errorKinds
