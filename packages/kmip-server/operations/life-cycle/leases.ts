import { defaultLease, type ManagedObject, stateAt } from '@warder/keys'
import { requireType, Tag, type TtlvNode } from '@warder/kmip-codec'
import {
  defineOperation,
  namedObject,
  objectReply,
  objectRequest,
  objectRight,
} from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'

/** How long a client may use an object before it must renew the lease, in seconds. */
function leaseSeconds(object: ManagedObject): number {
  return object.attributes.get('LeaseTime') ?? defaultLease
}

/** ObtainLease (KMIP 2.1 §6.1.35). There is no lease for an object that must not be used any more. */
export const obtainLease = defineOperation({
  name: 'ObtainLease',
  reach: ['reveal attributes'],
  access: objectRight('get'),
  request: objectRequest,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    leaseTime: required(field.interval(Tag.LeaseTime)),
    lastChangeDate: required(field.date(Tag.LastChangeDate)),
  }),
  handle(_request, { object, now }) {
    const state = stateAt(object, now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised')
      throw kmipFailure('ObjectDestroyed', 'DENIED')
    if (state === 'Compromised')
      throw kmipFailure('PermissionDenied', 'A compromised object cannot be leased.')
    return {
      uniqueIdentifier: object.id,
      leaseTime: leaseSeconds(object),
      lastChangeDate: Math.floor(object.changedAt / 1000),
    }
  },
})

/**
 * GetUsageAllocation (KMIP 2.1 §6.1.23): a client that uses the key outside of the server reserves a part of the
 * remaining uses, which reduces their count.
 */
export const getUsageAllocation = defineOperation({
  name: 'GetUsageAllocation',
  reach: ['change limits'],
  access: objectRight('get'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    usageLimitsCount: required(field.longInteger(Tag.UsageLimitsCount)),
  }),
  reply: objectReply,
  handle({ usageLimitsCount: wanted }, { object, objects, now }) {
    if (wanted < 1n) throw kmipFailure('InvalidField', 'UsageLimitsCount must be positive.')
    if (stateAt(object, now) !== 'Active') throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
    const limits = object.usageLimits
    if (limits === undefined) throw kmipFailure('AttributeNotFound', 'The object has no usage limits.')
    if (limits.left < wanted)
      throw kmipFailure('PermissionDenied', 'The requested count exceeds the usage limits of the object.')
    objects.update(object, { usageLimits: { ...limits, left: limits.left - wanted } })
    return { uniqueIdentifier: object.id }
  },
})

/**
 * Check (KMIP 2.1 §6.1.7): would these uses be allowed? The check counts no use. The answer does not repeat values that
 * are allowed.
 */
export const check = defineOperation({
  name: 'Check',
  reach: ['reveal attributes'],
  access: objectRight('getattributes'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    usageLimitsCount: field.longInteger(Tag.UsageLimitsCount),
    cryptographicUsageMask: field.integer(Tag.CryptographicUsageMask),
    leaseTime: field.node(Tag.LeaseTime, 'Interval'),
  }),
  reply: objectReply,
  handle({ usageLimitsCount: count, cryptographicUsageMask: mask = 0, leaseTime }, { object, now }) {
    const state = stateAt(object, now)
    if (state === 'Destroyed' || state === 'Destroyed_Compromised')
      throw kmipFailure('ObjectDestroyed', 'DENIED')
    if ((object.usageMask & mask) !== mask)
      throw kmipFailure('IncompatibleCryptographicUsageMask', 'Check Failed')
    const limits = object.usageLimits
    if (count !== undefined && limits !== undefined && limits.left < count)
      throw kmipFailure('UsageLimitExceeded', 'Check Failed')
    if (readLease(leaseTime) > leaseSeconds(object)) throw kmipFailure('PermissionDenied', 'Check Failed')
    return { uniqueIdentifier: object.id }
  },
})

/** An Interval in the standard, an Integer with some clients. */
function readLease(node: TtlvNode | undefined): number {
  if (node === undefined) return 0
  return node.type === 'Integer' ? node.value : requireType(node, 'Interval').value
}
