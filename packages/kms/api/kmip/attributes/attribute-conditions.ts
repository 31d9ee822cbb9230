import { Tag, tagText } from '@warder/kmip/tables'
import { boolean, encodeTtlv, memberLong, memberText, structure, type TtlvNode } from '@warder/kmip/ttlv'
import { maxTags, stateAt } from '../../../keys/index.ts'
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

/** Required order of dates (KMIP 2.1 §4.18, §4.40, §4.41); there are no other conditions on them. */
const dateOrder: readonly (readonly [earlier: number, later: number])[] = [
  [Tag.ActivationDate, Tag.ProcessStartDate],
  [Tag.ActivationDate, Tag.DeactivationDate],
  [Tag.ProtectStopDate, Tag.DeactivationDate],
]

function requireOrder(state: AttributeState, changed: TtlvNode, now: number): void {
  const tags = new Set(dateOrder.flat())
  const dates = [...tags].flatMap((tag) =>
    tag === changed.tag ? [changed] : attributeInstances(state, tag, now),
  )
  requireDateOrder(dates)
}

/** @throws kmipFailure InvalidAttributeValue when a date comes before one that must not be later */
function requireDateOrder(nodes: readonly TtlvNode[]): void {
  for (const [before, after] of dateOrder) {
    const earlier = nodes.find(({ tag }) => tag === before)
    const later = nodes.find(({ tag }) => tag === after)
    if (earlier?.type !== 'DateTime' || later?.type !== 'DateTime') continue
    if (later.value < earlier.value)
      throw kmipFailure('InvalidAttributeValue', `${tagText(after)} is before ${tagText(before)}.`)
  }
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
 * Conditions across the attributes of a new object: the order of dates, and no repeated name.
 * @throws kmipFailure InvalidAttributeValue, NonUniqueNameAttribute
 */
export function requireConsistent(nodes: readonly TtlvNode[]): void {
  requireDateOrder(nodes)
  const names = nodes.filter(({ tag }) => tag === Tag.Name).map(nameValue)
  if (new Set(names).size < names.length) throw kmipFailure('NonUniqueNameAttribute', 'DENIED')
}

function nameValue(node: TtlvNode): string | undefined {
  return node.type === 'Structure' ? memberText(node, Tag.NameValue) : undefined
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

/** Maximum number of attributes without a column of one object, and their encoding in bytes. */
const maxStoredAttributes = 1000
const maxStoredBytes = 256 * 1024

/** @throws kmipFailure ServerLimitExceeded */
export function requireRoomFor(stored: readonly TtlvNode[], tags: readonly string[]): void {
  if (
    tags.length > maxTags ||
    stored.length > maxStoredAttributes ||
    encodeTtlv(structure(Tag.Attributes, stored)).length > maxStoredBytes
  )
    throw kmipFailure('ServerLimitExceeded', 'The object cannot have so many or so large attributes.')
}
