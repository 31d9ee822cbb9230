import { Enumeration } from './enumerations.gen.ts'
import type { ValueName } from './enumerations.ts'
import type { OperationName } from './operations.ts'
import { atLeast, type KmipVersion } from './versions.ts'

/** Why an operation failed, in the names of KMIP 2.1 §11.46. */
export type ResultReason = ValueName<'ResultReason'>

/** The last reason number of the 1.x versions; 0x100 GeneralFailure exists in all. */
const lastReasons: readonly (readonly [KmipVersion, number])[] = [
  ['1.0', 0x11],
  ['1.1', 0x12],
  ['1.3', 0x15],
  ['1.4', 0x18],
]

/** Reasons of 1.x servers (KMIP 1.4 §11, error handling by operation); all others become GeneralFailure. */
const legacyReason: Readonly<Partial<Record<ResultReason, ResultReason>>> = {
  AttestationFailed: 'AuthenticationNotSuccessful',
  AttestationRequired: 'AuthenticationNotSuccessful',
  AttributeInstanceNotFound: 'ItemNotFound',
  AttributeNotFound: 'ItemNotFound',
  AttributeReadOnly: 'PermissionDenied',
  AttributeSingleValued: 'IndexOutOfBounds',
  BadCryptographicParameters: 'InvalidField',
  BadPassword: 'AuthenticationNotSuccessful',
  CodecError: 'InvalidMessage',
  ConstraintViolation: 'PermissionDenied',
  EncodingOptionError: 'InvalidField',
  IllegalObjectType: 'InvalidField',
  IncompatibleCryptographicUsageMask: 'IllegalOperation',
  InvalidAsynchronousCorrelationValue: 'ItemNotFound',
  InvalidAttribute: 'InvalidField',
  InvalidAttributeValue: 'InvalidField',
  InvalidCorrelationValue: 'InvalidField',
  InvalidCSR: 'InvalidField',
  InvalidDataType: 'InvalidField',
  InvalidObjectType: 'InvalidField',
  InvalidTicket: 'AuthenticationNotSuccessful',
  KeyValueNotPresent: 'IllegalOperation',
  KeyWrapTypeNotSupported: 'FeatureNotSupported',
  MissingInitializationVector: 'InvalidMessage',
  MultiValuedAttribute: 'InvalidField',
  NonUniqueNameAttribute: 'InvalidField',
  NotAuthorised: 'PermissionDenied',
  NotExtractable: 'PermissionDenied',
  NumericRange: 'InvalidField',
  ObjectAlreadyExists: 'InvalidField',
  ObjectDestroyed: 'PermissionDenied',
  ObjectNotFound: 'ItemNotFound',
  ReadOnlyAttribute: 'PermissionDenied',
  Sensitive: 'PermissionDenied',
  UnknownEnumeration: 'InvalidField',
  UnknownMessageExtension: 'FeatureNotSupported',
  UnknownObjectGroup: 'ItemNotFound',
  UnknownTag: 'InvalidMessage',
  UnsupportedAttribute: 'InvalidField',
  UnsupportedCryptographicParameters: 'CryptographicFailure',
  UnsupportedProtocolVersion: 'InvalidMessage',
  UsageLimitExceeded: 'PermissionDenied',
  WrappingObjectArchived: 'ObjectArchived',
  WrappingObjectDestroyed: 'ItemNotFound',
  WrappingObjectNotFound: 'ItemNotFound',
  WrongKeyLifecycleState: 'PermissionDenied',
}

/**
 * The public test cases of 2.0 expect the reason of 1.4 here, although the specification of 2.0 has that of
 * 2.1.
 */
const reasonsSince21: ReadonlySet<ResultReason> = new Set<ResultReason>(['WrongKeyLifecycleState'])

/**
 * The reason for a client of this version: the same if the version has it, else the nearest of 1.x (e.g.
 * PermissionDenied for Sensitive up to 1.4). Version 2.1 has all, and 2.0 all except `reasonsSince21`.
 */
export function reasonIn(
  version: KmipVersion,
  reason: ResultReason,
  operation?: OperationName,
): ResultReason {
  if (atLeast(version, '2.1') || reason === 'GeneralFailure') return reason
  if (atLeast(version, '2.0')) return reasonsSince21.has(reason) ? (legacyReason[reason] ?? reason) : reason
  // The public test cases of 1.x expect this for Get of a destroyed object.
  if (reason === 'ObjectDestroyed' && operation === 'Get') return 'ItemNotFound'
  let last = 0
  for (const [introduced, number] of lastReasons) if (atLeast(version, introduced)) last = number
  return Enumeration.ResultReason[reason] <= last ? reason : (legacyReason[reason] ?? 'GeneralFailure')
}
