import { type ErrorKind, errorKinds, Failure, failure, toFailure } from '@warder/foundation/errors'
import { UniqueViolation } from '@warder/foundation/sql'
import { reasonOf } from '@warder/kmip/messages'
import { Enumeration, type ResultReason } from '@warder/kmip/tables'
import { KmipDecodeError } from '@warder/kmip/ttlv'

/** Why an operation failed, in the words of KMIP 2.1. The message goes to the client. */
export class KmipFailure extends Error {
  readonly reason: ResultReason
  /** Goes to the log, never to the client. */
  readonly detail: string | undefined

  constructor(reason: ResultReason, message: string, detail?: string) {
    super(message)
    this.name = 'KmipFailure'
    this.reason = reason
    this.detail = detail
  }
}

/** Makes a failure to throw: `throw kmipFailure('WrongKeyLifecycleState', 'DENIED')`. */
export function kmipFailure(reason: ResultReason, message: string, detail?: string): KmipFailure {
  return new KmipFailure(reason, message, detail)
}

/** What was thrown, as the client, the audit record and HTTP are told of it. */
export interface Told {
  readonly reason: ResultReason
  readonly message: string
  readonly failure: Failure
}

/** Kinds of the registry whose sentence says more than their KMIP reason does. */
export function toldOf(thrown: unknown): Told {
  if (thrown instanceof KmipFailure) {
    const { reason, message, detail } = thrown
    const { kind } = kindOf(reason)
    return { reason, message, failure: httpFailure(kind, reason, message, detail) }
  }
  if (thrown instanceof KmipDecodeError) return toldOf(kmipFailure(reasonOf(thrown), thrown.message))
  if (thrown instanceof UniqueViolation)
    return toldOf(kmipFailure('ObjectAlreadyExists', 'An object with this identifier exists already.'))
  const told = toFailure(thrown)
  const reason = errorKinds[told.kind].kmipReason as ResultReason
  return {
    reason: reason in Enumeration.ResultReason ? reason : 'GeneralFailure',
    message: told.message,
    failure: new Failure(
      told.kind,
      told.detail !== undefined && fixed(told.kind) ? told.detail : told.message,
      {
        ...(told.detail !== undefined && { detail: told.detail }),
        ...(told.retryAfterSeconds !== undefined && { retryAfterSeconds: told.retryAfterSeconds }),
        cause: told.cause,
        members: { ...told.members, result_reason: reason },
      },
    ),
  }
}

function fixed(kind: ErrorKind): boolean {
  return 'fixed' in errorKinds[kind]
}

function httpFailure(
  kind: ErrorKind,
  reason: ResultReason,
  message: string,
  detail: string | undefined,
): Failure {
  return failure(kind, message, {
    ...(detail !== undefined && { detail }),
    members: { result_reason: reason },
  })
}

/** The kind of a reason over HTTP: `crypto_failure` (422) where none is nearer. */
function kindOf(reason: ResultReason): { readonly kind: ErrorKind } {
  return { kind: kinds[reason] ?? 'crypto_failure' }
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
