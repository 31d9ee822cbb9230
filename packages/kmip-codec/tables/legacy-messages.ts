import type { OperationName } from './operations.ts'
import type { ResultReason } from './reasons.ts'
import { isLegacy, type KmipVersion } from './versions.ts'

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
  if (version === '2.1') return message
  const told = precise.has(message) ? denied : message
  if (told !== denied || !isLegacy(version) || reason === undefined) return told
  return published.has(`${operation} ${reason}`) ? denied : (sentences[reason] ?? denied)
}
