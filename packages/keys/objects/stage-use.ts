import type { ManagedObject } from './managed-object.ts'
import { takeUsage } from './may-use.ts'
import type { UnitOfWork } from './unit-of-work.ts'

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
