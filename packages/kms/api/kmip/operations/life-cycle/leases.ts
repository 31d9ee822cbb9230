import { Tag } from '@warder/kmip/tables'
import {
  dateTime,
  findMember,
  interval,
  optional,
  requireMember,
  type StructureNode,
} from '@warder/kmip/ttlv'
import { defaultLease, type ManagedObject, stateAt } from '../../../../keys/index.ts'
import { type KmipOperation, kmipFailure, objectRight, uniqueIdentifier } from '../../engine/index.ts'

/** How long a client may use an object before it must renew the lease, in seconds. */
function leaseSeconds(object: ManagedObject): number {
  return object.attributes.get('LeaseTime') ?? defaultLease
}

/** ObtainLease (KMIP 2.1 §6.1.35). There is no lease for an object that must not be used any more. */
export const obtainLease: KmipOperation = {
  name: 'ObtainLease',
  access: objectRight('get'),
  act(_payload, { object, now }) {
    const state = stateAt(object, now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised')
      throw kmipFailure('ObjectDestroyed', 'DENIED')
    if (state === 'Compromised') throw kmipFailure('PermissionDenied', 'A compromised object is not leased.')
    return [
      uniqueIdentifier(object.id),
      interval(Tag.LeaseTime, leaseSeconds(object)),
      dateTime(Tag.LastChangeDate, Math.floor(object.changedAt / 1000)),
    ]
  },
}

/**
 * GetUsageAllocation (KMIP 2.1 §6.1.23): a client that uses the key outside of the server reserves a part of the
 * remaining uses, which reduces their count.
 */
export const getUsageAllocation: KmipOperation = {
  name: 'GetUsageAllocation',
  access: objectRight('get'),
  act(payload, { object, objects, now }) {
    const wanted = requireMember(payload, Tag.UsageLimitsCount, 'LongInteger')
    if (wanted < 1n) throw kmipFailure('InvalidField', 'UsageLimitsCount must be positive.')
    if (stateAt(object, now) !== 'Active') throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
    const limits = object.usageLimits
    if (limits === undefined) throw kmipFailure('AttributeNotFound', 'The object has no usage limits.')
    if (limits.left < wanted)
      throw kmipFailure('PermissionDenied', 'The usage limits of the object do not allow so much.')
    objects.update(object, { usageLimits: { ...limits, left: limits.left - wanted } })
    return [uniqueIdentifier(object.id)]
  },
}

/**
 * Check (KMIP 2.1 §6.1.7): would these uses be allowed? The check counts no use. The answer does not repeat values that
 * are allowed.
 */
export const check: KmipOperation = {
  name: 'Check',
  access: objectRight('getattributes'),
  act(payload, { object, now }) {
    const state = stateAt(object, now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised')
      throw kmipFailure('ObjectDestroyed', 'DENIED')
    const mask = optional(payload, Tag.CryptographicUsageMask, 'Integer') ?? 0
    if ((object.usageMask & mask) !== mask)
      throw kmipFailure('IncompatibleCryptographicUsageMask', 'Check Failed')
    const count = optional(payload, Tag.UsageLimitsCount, 'LongInteger')
    const limits = object.usageLimits
    if (count !== undefined && limits !== undefined && limits.left < count)
      throw kmipFailure('UsageLimitExceeded', 'Check Failed')
    if ((leaseAsked(payload) ?? 0) > leaseSeconds(object))
      throw kmipFailure('PermissionDenied', 'Check Failed')
    return [uniqueIdentifier(object.id)]
  },
}

/** An Interval in the standard, an Integer with some clients. */
function leaseAsked(payload: StructureNode): number | undefined {
  const node = findMember(payload, Tag.LeaseTime)
  return node?.type === 'Integer' ? node.value : optional(payload, Tag.LeaseTime, 'Interval')
}
