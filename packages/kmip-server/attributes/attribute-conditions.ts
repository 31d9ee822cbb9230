import { dateOrder, nameValue, requireAttributeDateOrder, stateAt } from '@warder/keys'
import { boolean, memberLong, Tag, type TtlvNode, tagText } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { type AttributeState, attributeInstances } from './attribute-view.ts'

/**
 * Checks whether the attribute may have this value, given the object's state, dates, limits and names. The table of
 * rules covers the rest.
 * @param before the instance that is replaced; undefined for a new one
 * @throws kmipFailure WrongKeyLifecycleState, InvalidAttributeValue, NonUniqueNameAttribute, PermissionDenied
 */
export function requireAllowedNow(
  state: AttributeState,
  before: TtlvNode | undefined,
  after: TtlvNode,
  now: number,
): void {
  switch (after.tag) {
    case Tag.ActivationDate:
      // KMIP 2.1 §4.1; the text is that of the test cases.
      if (stateAt(state.object, now) !== 'PreActive')
        throw kmipFailure('WrongKeyLifecycleState', 'ACTIVATION_DATE:!PRE_ACTIVE')
      requireOrder(state, after, now)
      return
    case Tag.DeactivationDate:
      requireLiving(state, after.tag, now)
      requireOrder(state, after, now)
      return
    case Tag.ProcessStartDate:
    case Tag.ProtectStopDate:
      requireLiving(state, after.tag, now)
      requireNotReached(before, now)
      requireOrder(state, after, now)
      return
    case Tag.Name:
      requireUniqueName(state, before, after, now)
      return
    case Tag.UsageLimits:
      requireUnused(before)
      return
    case Tag.RotateName:
      if (typeof after.value === 'string' && after.value.includes('@'))
        throw kmipFailure('InvalidAttributeValue', "RotateName must not contain '@'.")
      return
    default:
      return
  }
}

/** @throws kmipFailure PermissionDenied: limits cannot change once a use was counted (KMIP 2.1 §4.59) */
export function requireUnused(limits: TtlvNode | undefined): void {
  if (limits?.type !== 'Structure') return
  if (memberLong(limits, Tag.UsageLimitsCount) !== memberLong(limits, Tag.UsageLimitsTotal))
    throw kmipFailure('PermissionDenied', 'The usage limits cannot be changed: some of them were used.')
}

function requireLiving(state: AttributeState, tag: number, now: number): void {
  const current = stateAt(state.object, now)
  if (current !== 'PreActive' && current !== 'Active')
    throw kmipFailure(
      'WrongKeyLifecycleState',
      `${tagText(tag)} cannot be changed when the object is ${current}.`,
    )
}

function requireNotReached(before: TtlvNode | undefined, now: number): void {
  if (before?.type === 'DateTime' && before.value * 1000 <= now)
    throw kmipFailure('WrongKeyLifecycleState', `${tagText(before.tag)} cannot be changed: it has passed.`)
}

function requireOrder(state: AttributeState, changed: TtlvNode, now: number): void {
  const tags = new Set(dateOrder.flat())
  const dates = [...tags].flatMap((tag) =>
    tag === changed.tag ? [changed] : attributeInstances(state, tag, now),
  )
  requireAttributeDateOrder(dates)
}

/** A name occurs at most once in an object; other objects may have it too. */
function requireUniqueName(
  state: AttributeState,
  before: TtlvNode | undefined,
  after: TtlvNode,
  now: number,
): void {
  const name = nameValue(after)
  if (before !== undefined && nameValue(before) === name) return
  if (attributeInstances(state, Tag.Name, now).some((node) => nameValue(node) === name))
    throw kmipFailure('NonUniqueNameAttribute', 'DENIED')
}

/**
 * Further changes of a new value: AlwaysSensitive and NeverExtractable become false for good with the first value that
 * contradicts them (KMIP 2.1 §4.3, §4.33). A rotation interval above zero enables rotation.
 */
export function consequences(after: TtlvNode): readonly TtlvNode[] {
  if (after.tag === Tag.Sensitive && after.value === false) return [boolean(Tag.AlwaysSensitive, false)]
  if (after.tag === Tag.Extractable && after.value === true) return [boolean(Tag.NeverExtractable, false)]
  if (after.tag === Tag.RotateInterval && after.type === 'Interval' && after.value > 0)
    return [boolean(Tag.RotateAutomatic, true)]
  return []
}
