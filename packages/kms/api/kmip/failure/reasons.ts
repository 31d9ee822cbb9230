/** Result reasons (KMIP 2.1 §11.48) and the failures of the other parts, in both directions. */
import type { CovercryptErrorCode } from '@warder/covercrypt/error'
import type { ErrorKind } from '@warder/foundation/errors'
import type { ResultReason } from '@warder/kmip/tables'
import type { PkiErrorCode } from '@warder/pki/error'
import type { CryptoFailureCode } from '../../../crypto/index.ts'

/** The reasons of KMIP for the kinds of the foundation's registry. */
export const reasonOfKind: Readonly<Record<ErrorKind, ResultReason>> = {
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
  audit_unavailable: 'GeneralFailure',
}

/** The reasons of KMIP for the errors of @warder/pki. */
export const reasonOfPkiError: Readonly<Record<PkiErrorCode, ResultReason>> = {
  malformed: 'InvalidField',
  invalid_value: 'InvalidField',
  invalid_key: 'InvalidField',
  unsupported_key: 'InvalidField',
  unsupported_protection: 'FeatureNotSupported',
  wrong_password: 'BadPassword',
  invalid_request: 'InvalidCSR',
  cannot_sign: 'CryptographicFailure',
}

/** The reasons of KMIP for the errors of @warder/covercrypt. What does not open is told in KMIP's own word. */
export const reasonOfCovercryptError: Readonly<Record<CovercryptErrorCode, ResultReason>> = {
  malformed: 'InvalidField',
  invalid_policy: 'InvalidField',
  invalid_structure: 'InvalidField',
  unknown_attribute: 'InvalidField',
  disabled_attribute: 'CryptographicFailure',
  mixed_modes: 'InvalidField',
  too_large: 'ServerLimitExceeded',
  foreign_key: 'CryptographicFailure',
  cannot_open: 'CryptographicFailure',
}

/** The reasons of KMIP for what cryptography refuses, and the words where KMIP's are others (OASIS test cases, deployed servers). */
export const reasonOfCryptoFailure: Readonly<
  Record<CryptoFailureCode, { readonly reason: ResultReason; readonly words?: string }>
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

/** The kind of a reason over HTTP: `crypto_failure` (422) where none is nearer. */
export function kindOfReason(reason: ResultReason): ErrorKind {
  return kinds[reason] ?? 'crypto_failure'
}

const kinds: Readonly<Partial<Record<ResultReason, ErrorKind>>> = {
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
