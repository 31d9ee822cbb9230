import {
  type AttributeRule,
  checkValue,
  isSameInstance,
  isServerName,
  isTagName,
  type ManagedObject,
  readStoredAttributes,
  readTags,
  requireRoomFor,
  requireRule,
  requireVendorName,
  withStoredAttributes,
} from '@warder/keys'
import { Enumeration, findMember, sameValue, Tag, type TtlvNode } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { isAbeAttribute } from './abe-request.ts'
import { consequences, requireAllowedNow, requireUnused } from './attribute-conditions.ts'
import { assignIndexes, freeIndex, withIndexes } from './attribute-index.ts'
import { type AttributeName, formatName, isCalled, readAttributeName } from './attribute-name.ts'
import { isLegacyName } from './attribute-vendor.ts'
import { type AttributeState, attributeInstances, linkToOtherHalf } from './attribute-view.ts'

/** An edited object, and the instance that was added, changed or deleted. */
export interface Edited {
  readonly state: AttributeState
  readonly node: TtlvNode
  /** Index of the instance among those of its name, for 1.x clients. */
  readonly index: number
}

/**
 * AddAttribute (KMIP 2.1 §6.1.2): one more instance, or the only one.
 * @throws kmipFailure AttributeReadOnly, AttributeSingleValued, InvalidAttribute, InvalidAttributeValue,
 *   NonUniqueNameAttribute, WrongKeyLifecycleState, ServerLimitExceeded; nothing is changed then
 */
export function addAttribute(state: AttributeState, node: TtlvNode, now: number): Edited {
  const { rule, name } = requireEditable(state, node, 'add')
  const there = instancesCalled(state, name, now)
  if (there.length > 0 && (!rule.multiple || (name.vendor !== undefined && isLegacyName(name.vendor))))
    throw kmipFailure('AttributeSingleValued', 'DENIED')
  if (there.length === 0 && !rule.addable && !rule.always) throw readOnly()
  const indexes = assignIndexes(state.object, name, there.length)
  const index = there.length === 0 ? 0 : freeIndex(indexes)
  const next = indexes.findIndex((taken) => taken > index)
  const edited = putAttribute(state, rule, undefined, node, now, index, there[next])
  const { object, tags } = edited.state
  const all = [...indexes, index].toSorted((one, other) => one - other)
  return { ...edited, state: { tags, object: rule.multiple ? withIndexes(object, name, all) : object } }
}

/**
 * SetAttribute (KMIP 2.1 §6.1.51): replaces the only instance, or adds the first one.
 * @throws kmipFailure MultiValuedAttribute when there are several; else as `addAttribute`
 */
export function setAttribute(state: AttributeState, node: TtlvNode, now: number): Edited {
  const { rule, name } = requireEditable(state, node)
  const [only, ...others] = instancesCalled(state, name, now)
  if (others.length > 0) throw ambiguousError(name)
  if (only !== undefined && !rule.modifiable) throw readOnly()
  if (only === undefined && !rule.addable) throw readOnly()
  return putAttribute(state, rule, only, node, now, 0)
}

/** Selects an instance by value (2.x), by index (1.x), or as the only one. */
export interface Which {
  readonly current?: TtlvNode | undefined
  readonly index?: number | undefined
}

/**
 * ModifyAttribute (KMIP 2.1 §6.1.34): replaces an instance that is there.
 * @throws kmipFailure AttributeNotFound, AttributeInstanceNotFound, MultiValuedAttribute; else as `addAttribute`
 */
export function modifyAttribute(state: AttributeState, node: TtlvNode, which: Which, now: number): Edited {
  const { rule, name } = requireEditable(state, node)
  if (!rule.modifiable) throw readOnly()
  if (which.current !== undefined && !isCalled(which.current, name))
    throw kmipFailure('InvalidAttribute', 'CurrentAttribute and NewAttribute are two different attributes.')
  const { node: before, index } = requireInstance(state, name, which, instancesCalled(state, name, now))
  return putAttribute(state, rule, before, node, now, index)
}

/**
 * DeleteAttribute (KMIP 2.1 §6.1.13): the instance with this value or index, or every instance of the name.
 * @returns the first one that was deleted
 * @throws kmipFailure AttributeReadOnly, AttributeNotFound, AttributeInstanceNotFound, PermissionDenied
 */
export function deleteAttribute(
  state: AttributeState,
  name: AttributeName,
  which: Which,
  now: number,
): Edited {
  const rule = requireRule(name.tag)
  if (rule.readOnly || !rule.deletable) throw readOnly()
  if (name.vendor !== undefined && (isServerName(name.vendor) || isLegacyName(name.vendor))) throw readOnly()
  const there = instancesCalled(state, name, now)
  const indexes = assignIndexes(state.object, name, there.length)
  const isOne = which.current !== undefined || which.index !== undefined
  const gone = isOne ? [requireInstance(state, name, which, there).node] : there
  const [first] = gone
  if (first === undefined) throw notFound(name)
  for (const node of gone) {
    if (node.tag === Tag.UsageLimits) requireUnused(node)
    requireNotFixed(state.object, node)
  }
  const left = without(state, gone)
  const kept = indexes.filter((_, place) => !gone.includes(there[place] ?? first))
  return {
    state: { ...left, object: withIndexes(left.object, name, kept) },
    node: first,
    index: indexes[there.indexOf(first)] ?? 0,
  }
}

/**
 * An attribute-based key contains its policy in its bytes, so no attribute can change it. The link of a user key to its
 * master key is needed to refresh and revoke the user key.
 * @throws kmipFailure AttributeReadOnly
 */
function requireNotFixed({ form }: ManagedObject, node: TtlvNode): void {
  if (isAbeAttribute(node)) throw readOnly()
  if (node.tag !== Tag.Link || node.type !== 'Structure') return
  const isParent = findMember(node, Tag.LinkType)?.value === Enumeration.LinkType.ParentLink
  if (isParent && form.abe?.master !== undefined) throw readOnly()
}

interface Editable {
  readonly rule: AttributeRule
  readonly name: AttributeName
}

/** @throws kmipFailure AttributeReadOnly, InvalidAttribute */
function requireEditable(state: AttributeState, node: TtlvNode, edit?: 'add'): Editable {
  const rule = requireRule(node.tag)
  if (rule.readOnly) throw readOnly()
  if (!rule.appliesTo.has(state.object.type))
    throw kmipFailure(
      'InvalidAttribute',
      `${rule.name} is no attribute of an object of type ${state.object.type}.`,
    )
  // Operation Policy Name is first set by a client or the server, and changed or deleted by no client (KMIP 1.4 §3.18).
  if (node.tag === Tag.Attribute && isLegacyName(requireVendorName(node)) && edit !== 'add') throw readOnly()
  requireNotFixed(state.object, node)
  if (state.object.form.hsm !== undefined && (node.tag === Tag.Extractable || node.tag === Tag.Sensitive))
    throw kmipFailure('AttributeReadOnly', 'The HSM that has the key determines this.')
  return { rule, name: readAttributeName(node) }
}

/** The instances of an attribute of this name, in the order of their indexes. */
export function instancesCalled(
  state: AttributeState,
  name: AttributeName,
  now: number,
): readonly TtlvNode[] {
  const all = attributeInstances(state, name.tag, now)
  const isWhole = name.vendor === undefined && name.linkType === undefined
  return isWhole ? all : all.filter((node) => isCalled(node, name))
}

function requireInstance(
  state: AttributeState,
  name: AttributeName,
  { current, index }: Which,
  there: readonly TtlvNode[],
): { readonly node: TtlvNode; readonly index: number } {
  if (there.length === 0) throw notFound(name)
  if (current === undefined && index === undefined && there.length > 1) throw ambiguousError(name)
  const indexes = assignIndexes(state.object, name, there.length)
  const at =
    current === undefined
      ? indexes.indexOf(index ?? indexes[0] ?? 0)
      : there.findIndex((node) => sameValue(node, current))
  const node = there[at]
  if (node === undefined)
    throw kmipFailure('AttributeInstanceNotFound', `There is no such instance of ${formatName(name)}.`)
  return { node, index: indexes[at] ?? 0 }
}

/** Checks the value and replaces `before` with it, inserts it before `next`, or appends it. */
function putAttribute(
  state: AttributeState,
  rule: AttributeRule,
  before: TtlvNode | undefined,
  node: TtlvNode,
  now: number,
  index: number,
  next?: TtlvNode,
): Edited {
  const after = checkValue(rule, node)
  requireAllowedNow(state, before, after, now)
  let edited = replaceNode(state, before, after, next)
  for (const consequence of consequences(after)) {
    const stored = readStoredAttributes(edited.object).find(({ tag }) => tag === consequence.tag)
    edited = replaceNode(edited, stored, consequence)
  }
  requireRoom(edited)
  return { state: edited, node: after, index }
}

function replaceNode(
  state: AttributeState,
  before: TtlvNode | undefined,
  after: TtlvNode,
  next?: TtlvNode,
): AttributeState {
  const { object, tags } = state
  if (after.type === 'DateTime') {
    if (after.tag === Tag.ActivationDate)
      return { tags, object: { ...object, activationAt: after.value * 1000 } }
    if (after.tag === Tag.DeactivationDate)
      return { tags, object: { ...object, deactivationAt: after.value * 1000 } }
  }
  if (isTags(after)) {
    const kept = before === undefined ? tags : ownTags(tags)
    return { object, tags: [...new Set([...kept, ...readTags(after)])].sort() }
  }
  const stored = readStoredAttributes(object)
  const isPairLink = before !== undefined && isHalfLink(object, before)
  if (isPairLink && sameValue(before, after)) return state
  const at = before === undefined ? -1 : stored.findIndex((node) => isSameInstance(node, before))
  // The link between the halves of a pair precedes the stored links.
  const last = isPairLink ? 0 : stored.length
  const end = next === undefined ? last : stored.findIndex((node) => isSameInstance(node, next))
  const nodes = at < 0 ? stored.toSpliced(end, 0, after) : stored.with(at, after)
  const edited = withStoredAttributes(object, nodes)
  return { tags, object: isPairLink ? { ...edited, linkedId: undefined } : edited }
}

function without({ object, tags }: AttributeState, gone: readonly TtlvNode[]): AttributeState {
  const stored = readStoredAttributes(object)
  const nodes = [...stored]
  for (const one of gone) {
    const at = nodes.findIndex((node) => isSameInstance(one, node))
    if (at >= 0) nodes.splice(at, 1)
  }
  const left = withStoredAttributes(object, nodes)
  return {
    object: gone.some((node) => isHalfLink(object, node)) ? { ...left, linkedId: undefined } : left,
    tags: gone.some(isTags) ? ownTags(tags) : tags,
  }
}

function isTags(node: TtlvNode): boolean {
  if (node.tag !== Tag.Attribute) return false
  const { vendor } = readAttributeName(node)
  return vendor !== undefined && isTagName(vendor)
}

/** Is this the link of the column `linkedId`, even if a client has also stored it? */
function isHalfLink(object: ManagedObject, node: TtlvNode): boolean {
  const half = node.tag === Tag.Link ? linkToOtherHalf(object) : undefined
  return half !== undefined && sameValue(half, node)
}

/** Internal tags of the service, which no client can see or remove. */
function ownTags(tags: readonly string[]): readonly string[] {
  return tags.filter((tag) => tag.startsWith('_'))
}

function requireRoom({ object, tags }: AttributeState): void {
  requireRoomFor(readStoredAttributes(object), tags)
}

function readOnly(): Error {
  return kmipFailure('AttributeReadOnly', 'DENIED')
}

function notFound(name: AttributeName): Error {
  return kmipFailure('AttributeNotFound', `The object has no ${formatName(name)}.`)
}

function ambiguousError(name: AttributeName): Error {
  return kmipFailure(
    'MultiValuedAttribute',
    `There are several instances of ${formatName(name)}: name one of them.`,
  )
}
