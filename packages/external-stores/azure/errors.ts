import { type ErrorKind, type Failure, failure } from '@warder/base'
import type { ErrorShape, PublicError } from '@warder/server'
import Type from 'typebox'

/** Codes of the EKM Proxy API with their statuses, and the kind that each is here. */
const errors = {
  InvalidRequest: [400, 'bad_request'],
  UnsupportedApiVersion: [400, 'bad_request'],
  UnsupportedAlgorithm: [400, 'unsupported_algorithm'],
  Unauthorized: [401, 'unauthorized'],
  Forbidden: [403, 'forbidden'],
  KeyDisabled: [403, 'crypto_failure'],
  OperationNotAllowed: [403, 'crypto_failure'],
  KeyNotFound: [404, 'not_found'],
  TooManyRequests: [429, 'rate_limited'],
  InternalError: [500, 'internal_error'],
} as const satisfies Readonly<Record<string, readonly [status: number, kind: ErrorKind]>>

export type EkmError = keyof typeof errors

/** Creates a failure that is reported under this code. */
export function ekmFailure(code: EkmError, sentence?: string): Failure {
  return failure(errors[code][1], sentence, { members: { code } })
}

/** Codes of the other failures of the service. */
const codes: Partial<Readonly<Record<ErrorKind, EkmError>>> = {
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  not_found: 'KeyNotFound',
  unsupported_algorithm: 'UnsupportedAlgorithm',
  crypto_failure: 'OperationNotAllowed',
  decryption_failed: 'InvalidRequest',
  rate_limited: 'TooManyRequests',
  overloaded: 'TooManyRequests',
}

function toEkmError({ kind, status, members }: PublicError): EkmError {
  const named = members?.code
  if (typeof named === 'string' && Object.hasOwn(errors, named)) return named as EkmError
  return codes[kind] ?? (status >= 500 ? 'InternalError' : 'InvalidRequest')
}

/** Kinds whose own status is more specific than that of the code. */
const ownStatus: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'method_not_allowed',
  'storage_unavailable',
  'audit_unavailable',
])

export const ekmErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({ code: Type.String(), message: Type.String() }),
  },
  reply(failed) {
    const code = toEkmError(failed)
    const status = ownStatus.has(failed.kind) ? failed.status : errors[code][0]
    return {
      status,
      json: { code, message: failed.message },
      // RFC 9110 §11.6.1 requires the header, but no HTTP scheme fits: the certificate belongs to the TLS handshake.
      ...(status === 401 && { headers: { 'WWW-Authenticate': 'Mutual' } }),
    }
  },
}
