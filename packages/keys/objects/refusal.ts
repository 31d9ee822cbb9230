import { CodedError, failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { LastUses } from './last-use.ts'
import { getChainId, type ManagedObject } from './managed-object.ts'
import { mayUse, takeUsage, type Usage, type UseRefusal } from './may-use.ts'
import type { Withheld } from './state-machine.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** Reasons for refusals by objects and keys, in the words of KMIP 2.1 §11.48. */
export type RefusalReason =
  | 'ApplicationNamespaceNotSupported'
  | 'AttributeReadOnly'
  | 'AttributeSingleValued'
  | 'ConstraintViolation'
  | 'GeneralFailure'
  | 'IncompatibleCryptographicUsageMask'
  | 'InvalidAttribute'
  | 'InvalidAttributeValue'
  | 'InvalidField'
  | 'InvalidObjectType'
  | 'KeyValueNotPresent'
  | 'MissingData'
  | 'NonUniqueNameAttribute'
  | 'ObjectArchived'
  | 'ObjectDestroyed'
  | 'ObjectNotFound'
  | 'PermissionDenied'
  | 'ProtectionStorageUnavailable'
  | 'ServerLimitExceeded'
  | 'WrongKeyLifecycleState'

/** Why a request was refused. The message goes to the client. */
export class Refusal<Reason extends string = RefusalReason> extends CodedError<Reason> {
  override readonly name = 'Refusal'
  /** Goes to the log, never to the client. */
  readonly detail: string | undefined

  constructor(reason: Reason, message: string, detail?: string) {
    super(reason, message)
    this.detail = detail
  }
}

/** Makes a refusal to throw: `throw refusal('WrongKeyLifecycleState', 'DENIED')`. */
export function refusal(reason: RefusalReason, message: string): Refusal {
  return new Refusal(reason, message)
}

/**
 * Refusals of objects withheld from every use; the standard has a reason only for archived objects
 * (docs/adr/key-life-cycle-and-versions.md).
 */
export const withheldRefusals: Readonly<Record<Withheld, readonly [RefusalReason, message: string]>> = {
  archived: ['ObjectArchived', 'The object is archived: recover it first.'],
  disabled: ['WrongKeyLifecycleState', 'The object is disabled.'],
  'awaits destruction': ['WrongKeyLifecycleState', 'The destruction of the object is pending.'],
}

/** Refusals of the rule of use (KMIP 2.1 §11.48). */
const useRefusals: Readonly<
  Record<Exclude<UseRefusal, 'policy'>, readonly [RefusalReason, message: string]>
> = {
  destroyed: ['ObjectDestroyed', 'DENIED'],
  ...withheldRefusals,
  state: ['WrongKeyLifecycleState', 'DENIED'],
  'not yet': ['WrongKeyLifecycleState', 'DENIED'],
  'no longer': ['WrongKeyLifecycleState', 'DENIED'],
  'usage mask': ['IncompatibleCryptographicUsageMask', 'The usage mask of the key does not permit this use.'],
}

/** Use of a key by a user. */
export interface UseContext {
  readonly services: { readonly policy: AlgorithmPolicy; readonly uses: LastUses }
  readonly principal: { readonly name: string }
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Requires that the object may be used so now, and notes the use; see `mayUse`.
 * @throws Refusal WrongKeyLifecycleState DENIED, IncompatibleCryptographicUsageMask, ObjectDestroyed, ObjectArchived;
 *   Failure unsupported_algorithm for a key that the policy does not permit any more
 */
export function requireUse(
  { now, services, principal }: UseContext,
  object: ManagedObject,
  use: Usage,
): void {
  const verdict = mayUse(object, use, now, services.policy)
  if (verdict.allowed) {
    services.uses.note(getChainId(object), principal.name, now)
    return
  }
  if (verdict.why === 'policy') throw failure('unsupported_algorithm', verdict.sentence)
  throw refusal(...useRefusals[verdict.why])
}

/** Stages a use of the key. @throws Refusal PermissionDenied DENIED when not so much is left (CS-BC-M-7) */
export function takeUse(
  { objects }: { readonly objects: UnitOfWork },
  object: ManagedObject,
  bytes: number,
  first: boolean,
): void {
  if (!stageUse(objects, object, bytes, first)) throw refusal('PermissionDenied', 'DENIED')
}

/**
 * Stages a use of an object that has usage limits. The object's version guards it, and it is committed before the answer
 * goes out: two at once never use more than there is.
 * @param bytes of data that are protected; a use that is counted by objects is taken with the first part only
 * @returns false: not so much is left, and nothing is staged
 */
export function stageUse(objects: UnitOfWork, object: ManagedObject, bytes: number, first: boolean): boolean {
  const limits = object.usageLimits
  if (limits === undefined) return true
  const left = takeUsage(limits, bytes, first)
  if (left === undefined) return false
  if (left !== limits) objects.update(object, { usageLimits: left })
  return true
}
