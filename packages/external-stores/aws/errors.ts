import { type ErrorKind, type Failure, failure } from '@warder/base'
import type { ErrorShape, PublicError } from '@warder/server'
import Type from 'typebox'

/** Errors of the XKS Proxy API with their statuses, and the kind that each is here ("Error codes"). */
const errors = {
  ValidationException: [400, 'bad_request'],
  InvalidStateException: [400, 'crypto_failure'],
  InvalidCiphertextException: [400, 'decryption_failed'],
  InvalidKeyUsageException: [400, 'crypto_failure'],
  AuthenticationFailedException: [401, 'unauthorized'],
  AccessDeniedException: [403, 'forbidden'],
  KeyNotFoundException: [404, 'not_found'],
  InvalidUriPathException: [404, 'not_found'],
  ThrottlingException: [429, 'rate_limited'],
  UnsupportedOperationException: [501, 'unsupported_algorithm'],
  DependencyTimeoutException: [503, 'storage_unavailable'],
  InternalException: [500, 'internal_error'],
} as const satisfies Readonly<Record<string, readonly [status: number, kind: ErrorKind]>>

export type XksError = keyof typeof errors

/** Creates a failure that is reported under this name. */
export function xksFailure(errorName: XksError, sentence?: string): Failure {
  return failure(errors[errorName][1], sentence, { members: { errorName } })
}

/** Names of the other failures of the service. */
const names: Partial<Readonly<Record<ErrorKind, XksError>>> = {
  unauthorized: 'AuthenticationFailedException',
  forbidden: 'AccessDeniedException',
  not_found: 'InvalidUriPathException',
  payload_too_large: 'UnsupportedOperationException',
  unsupported_algorithm: 'UnsupportedOperationException',
  crypto_failure: 'InvalidKeyUsageException',
  decryption_failed: 'InvalidCiphertextException',
  rate_limited: 'ThrottlingException',
  overloaded: 'ThrottlingException',
  storage_unavailable: 'DependencyTimeoutException',
  audit_unavailable: 'DependencyTimeoutException',
}

function toXksError({ kind, status, members }: PublicError): XksError {
  const named = members?.errorName
  if (typeof named === 'string' && Object.hasOwn(errors, named)) return named as XksError
  return names[kind] ?? (status >= 500 ? 'InternalException' : 'ValidationException')
}

/** `errorMessage` has fewer than 512 characters, all of them printable ASCII. */
function toMessage(sentence: string): string {
  return sentence.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 511)
}

export const xksErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({
      errorName: Type.String(),
      errorMessage: Type.Optional(Type.String()),
    }),
  },
  reply(failed) {
    const errorName = toXksError(failed)
    // 405 keeps its status: the API requires it for requests other than POST.
    const status = failed.kind === 'method_not_allowed' ? failed.status : errors[errorName][0]
    return {
      status,
      json: { errorName, errorMessage: toMessage(failed.message) },
      ...(status === 401 && { headers: { 'WWW-Authenticate': 'AWS4-HMAC-SHA256' } }),
    }
  },
}
