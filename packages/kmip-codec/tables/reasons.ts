import { Enumeration } from './enumerations.gen.ts'
import type { ValueName } from './enumerations.ts'
import type { OperationName } from './operations.ts'
import { atLeast, draftVersion, isLegacy, type KmipVersion } from './versions.ts'

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

/** The public test cases of 3.0 expect this for GetAttributes of an object that is not there (BL-M-20). */
function isMissing(
  version: KmipVersion,
  reason: ResultReason | undefined,
  operation: OperationName | undefined,
): boolean {
  return version === draftVersion && reason === 'ObjectNotFound' && operation === 'GetAttributes'
}

/** Reasons whose numbers 3.0 reserves. */
const draftReason: Readonly<Partial<Record<ResultReason, ResultReason>>> = {
  IllegalOperation: 'PermissionDenied',
  IndexOutOfBounds: 'InvalidField',
  UnknownObjectGroup: 'ItemNotFound',
}

/**
 * The reason for a client of this version: the same if the version has it, else the nearest of 1.x (e.g.
 * PermissionDenied for Sensitive up to 1.4). Version 2.1 has all, and 2.0 all except `reasonsSince21`.
 */
export function reasonIn(
  version: KmipVersion,
  reason: ResultReason,
  operation?: OperationName,
): ResultReason {
  if (version === draftVersion)
    return isMissing(version, reason, operation) ? 'ItemNotFound' : (draftReason[reason] ?? reason)
  if (atLeast(version, '2.1') || reason === 'GeneralFailure') return reason
  if (atLeast(version, '2.0')) return reasonsSince21.has(reason) ? (legacyReason[reason] ?? reason) : reason
  // The public test cases of 1.x expect this for Get of a destroyed object.
  if (reason === 'ObjectDestroyed' && operation === 'Get') return 'ItemNotFound'
  let last = 0
  for (const [introduced, number] of lastReasons) if (atLeast(version, introduced)) last = number
  return Enumeration.ResultReason[reason] <= last ? reason : (legacyReason[reason] ?? 'GeneralFailure')
}

/**
 * The only message of refusals in the public test cases. 2.x has a reason for each; 1.x has PermissionDenied
 * for most.
 */
const denied = 'DENIED'

/**
 * Refusals with exactly this message in the public test cases of 1.x (AKLC-M-2, -3, SKLC-M-2, -3, CS-AC-M-8,
 * CS-BC-M-7, -14).
 */
const published: ReadonlySet<string> = new Set<`${OperationName} ${ResultReason}`>([
  'Destroy WrongKeyLifecycleState',
  'ModifyAttribute WrongKeyLifecycleState',
  'Sign WrongKeyLifecycleState',
  'SignatureVerify WrongKeyLifecycleState',
  'Encrypt WrongKeyLifecycleState',
  'Decrypt WrongKeyLifecycleState',
  'Encrypt PermissionDenied',
])

/** Message for a 1.x client in place of a reason that its version does not have. */
const sentences: Readonly<Partial<Record<ResultReason, string>>> = {
  AttributeReadOnly: 'Clients cannot set or change this attribute.',
  AttributeSingleValued: 'The attribute can have only one value.',
  NonUniqueNameAttribute: 'An object with this name exists already.',
  NotExtractable: 'The object is not Extractable: it is not returned to any client.',
  ObjectDestroyed: 'The object is destroyed.',
  // The message must not reveal whether the object exists: it is the same if the caller has no right to the object.
  ObjectNotFound: 'There is no such object for this caller.',
  PermissionDenied: 'The usage limits of the object do not allow this.',
  ReadOnlyAttribute: 'Clients cannot set or change this attribute.',
  Sensitive: 'The object is Sensitive: it is returned only in wrapped form.',
  WrappingObjectDestroyed: 'The wrapping key is destroyed.',
  WrappingObjectNotFound: 'There is no such wrapping key for this caller.',
  WrongKeyLifecycleState: 'The state or the dates of the object do not allow this.',
}

/** Messages of the public test cases that are specific in 2.1 and general before it (AKLC-M-3, SKLC-M-3). */
const precise: ReadonlySet<string> = new Set(['ACTIVATION_DATE:!PRE_ACTIVE'])

/** The message of a failure for a client of this version. */
export function messageIn(
  version: KmipVersion,
  message: string,
  reason?: ResultReason,
  operation?: OperationName,
): string {
  if (isMissing(version, reason, operation)) return 'NOT_FOUND'
  if (atLeast(version, '2.1')) return message
  const told = precise.has(message) ? denied : message
  if (told !== denied || !isLegacy(version) || reason === undefined) return told
  return published.has(`${operation} ${reason}`) ? denied : (sentences[reason] ?? denied)
}
