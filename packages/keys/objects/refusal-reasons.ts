/** Result reasons (KMIP 2.1 §11.48) and the failures of the other parts, in both directions. */
import { type ErrorKind, type Failure, failure, toFailure } from '@warder/base'
import { CryptoFailure, type CryptoFailureCode } from '@warder/crypto'
import { PkiError, type PkiErrorCode } from '@warder/pki'
import { UniqueViolation } from '@warder/storage'
import { Refusal } from './refusal.ts'
import { identifierTaken } from './unit-of-work.ts'

/** The reasons of KMIP for the kinds of the foundation's registry. */
export const reasonOfKind = {
  bad_request: 'InvalidMessage',
  unauthorized: 'AuthenticationNotSuccessful',
  forbidden: 'PermissionDenied',
  not_found: 'ItemNotFound',
  method_not_allowed: 'OperationNotSupported',
  conflict: 'ObjectAlreadyExists',
  payload_too_large: 'InvalidMessage',
  unsupported_media_type: 'InvalidMessage',
  expectation_failed: 'InvalidMessage',
  unsupported_algorithm: 'UnsupportedCryptographicParameters',
  crypto_failure: 'CryptographicFailure',
  decryption_failed: 'CryptographicFailure',
  rate_limited: 'PermissionDenied',
  request_timeout: 'InvalidMessage',
  headers_too_large: 'InvalidMessage',
  internal_error: 'GeneralFailure',
  not_implemented: 'OperationNotSupported',
  certificate_signing_unconfigured: 'GeneralFailure',
  bad_gateway: 'GeneralFailure',
  overloaded: 'GeneralFailure',
  storage_unavailable: 'GeneralFailure',
  sealed: 'GeneralFailure',
  hsm_unavailable: 'GeneralFailure',
  auth_unavailable: 'GeneralFailure',
  audit_unavailable: 'GeneralFailure',
} as const satisfies Readonly<Record<ErrorKind, string>>

/** The reasons of KMIP for the errors of @warder/pki. */
const reasonOfPkiError = {
  malformed: 'InvalidField',
  invalid_value: 'InvalidField',
  invalid_key: 'InvalidField',
  unsupported_key: 'InvalidField',
  unsupported_protection: 'FeatureNotSupported',
  wrong_password: 'BadPassword',
  invalid_request: 'InvalidCSR',
  cannot_sign: 'CryptographicFailure',
} as const satisfies Readonly<Record<PkiErrorCode, string>>

/**
 * The reasons of KMIP for refusals of the cryptography, and the messages if those of KMIP differ (OASIS test cases,
 * deployed servers).
 */
const reasonOfCryptoFailure: Readonly<
  Record<CryptoFailureCode, { readonly reason: string; readonly words?: string }>
> = {
  unsupported: { reason: 'UnsupportedCryptographicParameters' },
  bad_parameters: { reason: 'BadCryptographicParameters' },
  tag_length: { reason: 'GeneralFailure', words: 'L_KMIPCRYPTO_random:invalid-tag-length' },
  invalid_input: { reason: 'InvalidField' },
  iv_length: { reason: 'InvalidField', words: 'invalid-iv-length' },
  missing_iv: { reason: 'InvalidMessage', words: 'missing-iv' },
  too_much_work: { reason: 'ServerLimitExceeded' },
  wrong_key: { reason: 'CryptographicFailure' },
  failed: { reason: 'CryptographicFailure', words: 'CRYPTO' },
  decryption_failed: { reason: 'CryptographicFailure', words: 'CRYPTO' },
}

/** The kind of a reason over HTTP: `crypto_failure` (422) if no other kind fits. */
function kindOfReason(reason: string): ErrorKind {
  return kinds[reason] ?? 'crypto_failure'
}

const kinds: Readonly<Record<string, ErrorKind>> = {
  ItemNotFound: 'not_found',
  ObjectNotFound: 'not_found',
  AttributeNotFound: 'not_found',
  AttributeInstanceNotFound: 'not_found',
  InvalidAsynchronousCorrelationValue: 'not_found',
  AuthenticationNotSuccessful: 'unauthorized',
  PermissionDenied: 'forbidden',
  NotAuthorised: 'forbidden',
  InvalidMessage: 'bad_request',
  MissingData: 'bad_request',
  InvalidField: 'bad_request',
  InvalidAttribute: 'bad_request',
  InvalidAttributeValue: 'bad_request',
  InvalidCorrelationValue: 'bad_request',
  InvalidDataType: 'bad_request',
  InvalidObjectType: 'bad_request',
  NumericRange: 'bad_request',
  CodecError: 'bad_request',
  UnknownEnumeration: 'bad_request',
  UnknownTag: 'bad_request',
  UnsupportedAttribute: 'bad_request',
  UnsupportedProtocolVersion: 'bad_request',
  OperationNotSupported: 'bad_request',
  FeatureNotSupported: 'bad_request',
  UnknownMessageExtension: 'bad_request',
  MissingInitializationVector: 'bad_request',
  AttributeReadOnly: 'bad_request',
  AttributeSingleValued: 'bad_request',
  ReadOnlyAttribute: 'bad_request',
  NonUniqueNameAttribute: 'conflict',
  ObjectAlreadyExists: 'conflict',
  ResponseTooLarge: 'bad_request',
  ServerLimitExceeded: 'bad_request',
  UnsupportedCryptographicParameters: 'unsupported_algorithm',
  BadCryptographicParameters: 'unsupported_algorithm',
  InternalServerError: 'internal_error',
}

/** A thrown error as KMIP reports it, and as HTTP and the log report it. */
export interface Explanation {
  readonly reason: string
  readonly message: string
  readonly failure: Failure
}

/** Converts a PkiError or a CryptoFailure to a refusal; returns any other error unchanged. */
export function toRefusal(thrown: unknown): unknown {
  if (thrown instanceof CryptoFailure) {
    const { reason, words } = reasonOfCryptoFailure[thrown.code]
    return new Refusal(reason, words ?? thrown.message)
  }
  return thrown instanceof PkiError ? new Refusal(reasonOfPkiError[thrown.code], thrown.message) : thrown
}

/** Explains anything thrown. An error outside of the registry is an internal error, whose cause goes only to the log. */
export function explain(thrown: unknown): Explanation {
  const known = thrown instanceof UniqueViolation ? identifierTaken() : toRefusal(thrown)
  if (known instanceof Refusal) {
    const { code: reason, message, detail } = known
    const told = failure(kindOfReason(reason), message, detail === undefined ? {} : { detail })
    return { reason, message, failure: told }
  }
  const told = toFailure(known)
  const said = told.members?.result_reason
  return {
    reason: typeof said === 'string' ? said : reasonOfKind[told.kind],
    message: told.message,
    failure: told,
  }
}
