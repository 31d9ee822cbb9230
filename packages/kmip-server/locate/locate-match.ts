import { readVendorName, stateAt } from '@warder/keys'
import { findMask, memberLong, type StructureNode, sameValue, Tag, type TtlvNode } from '@warder/kmip-codec'
import { sameVendorName } from '../attributes/attribute-vendor.ts'
import { type AttributeState, attributeInstances } from '../attributes/attribute-view.ts'
import type { StorageStatuses, Term } from './locate-criteria.ts'

/** The maximum DateTime: in a search it means "not set" (KMIP 2.1 §6.1.28). */
export const dateNotSet = 8_640_000_000_000

/** Does the object meet every term at `now` (Unix milliseconds)? */
export function meetsAll(terms: readonly Term[], state: AttributeState, now: number): boolean {
  return terms.every((term) => meets(term, state, now))
}

/** Whether the object matches a term at `now` (KMIP 2.1 §6.1.28, for each kind of attribute). */
function meets(term: Term, state: AttributeState, now: number): boolean {
  switch (term.kind) {
    case 'tags':
      return term.tags.every((tag) => state.tags.includes(tag))
    case 'user key':
      return state.object.form.abe?.kind === 'user'
    case 'range': {
      const [node] = attributeInstances(state, term.tag, now)
      if (node?.type !== 'DateTime') return term.to === dateNotSet
      return node.value >= term.from && node.value <= term.to
    }
    case 'value': {
      const there = attributeInstances(state, term.node.tag, now)
      if (term.node.type === 'DateTime' && term.node.value === dateNotSet) return there.length === 0
      return there.some((node) => hasValue(node, term.node))
    }
  }
}

function hasValue(node: TtlvNode, wanted: TtlvNode): boolean {
  if (wanted.type === 'Integer' && findMask(wanted.tag) !== undefined) {
    return node.type === 'Integer' && (node.value & wanted.value) === wanted.value
  }
  if (wanted.type !== 'Structure') return sameValue(node, wanted)
  if (node.type !== 'Structure') return false
  if (wanted.tag === Tag.Attribute) return hasVendorValue(node, wanted)
  if (wanted.tag === Tag.UsageLimits) return hasLimits(node, wanted)
  return hasMembers(node, wanted.value)
}

/** The given members of a structure must match; omitted members match any value. */
function hasMembers(node: StructureNode, members: readonly TtlvNode[]): boolean {
  return members.every((member) => node.value.some((own) => own.tag === member.tag && sameValue(own, member)))
}

function hasVendorValue(node: StructureNode, wanted: StructureNode): boolean {
  const own = readVendorName(node)
  const asked = readVendorName(wanted)
  if (own === undefined || asked === undefined || !sameVendorName(own, asked)) return false
  return hasMembers(
    node,
    wanted.value.filter(({ tag }) => tag === Tag.AttributeValue),
  )
}

/** At least the same remaining uses and total, and the same unit. */
function hasLimits(node: StructureNode, wanted: StructureNode): boolean {
  const atLeast = (tag: number): boolean => {
    const asked = memberLong(wanted, tag)
    return asked === undefined || (memberLong(node, tag) ?? -1n) >= asked
  }
  const others = wanted.value.filter(
    ({ tag }) => tag !== Tag.UsageLimitsTotal && tag !== Tag.UsageLimitsCount,
  )
  return atLeast(Tag.UsageLimitsTotal) && atLeast(Tag.UsageLimitsCount) && hasMembers(node, others)
}

/** Does the object have one of the storage statuses that are searched? */
export function isStored(statuses: StorageStatuses, { object }: AttributeState, now: number): boolean {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised') return statuses.destroyed
  return object.archivedAt === undefined ? statuses.online : statuses.archived
}
