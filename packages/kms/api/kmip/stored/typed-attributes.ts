import { Enumeration, Tag } from '@warder/kmip/tables'
import {
  boolean,
  dateTime,
  enumeration,
  longInteger,
  type StructureNode,
  structure,
  type TtlvNode,
} from '@warder/kmip/ttlv'
import { type ManagedObject, newObjectDefaults, type UsageLimits } from '../../../keys/index.ts'
import { memberLong, memberNumber } from './attribute-values.ts'

/** Members of an object that are attributes of KMIP and bind every protocol. */
export type TypedMembers = Pick<
  ManagedObject,
  | 'processStartAt'
  | 'protectStopAt'
  | 'usageLimits'
  | 'extractable'
  | 'sensitive'
  | 'neverExtractable'
  | 'alwaysSensitive'
>

interface TypedAttribute {
  readonly tag: number
  /** undefined: the object has what objects have of which nobody said anything. */
  toNode(members: TypedMembers): TtlvNode | undefined
  fromNode(node: TtlvNode): Partial<TypedMembers>
}

const typedAttributes: readonly TypedAttribute[] = [
  moment(Tag.ProcessStartDate, 'processStartAt'),
  moment(Tag.ProtectStopDate, 'protectStopAt'),
  flag(Tag.Sensitive, 'sensitive'),
  flag(Tag.AlwaysSensitive, 'alwaysSensitive'),
  flag(Tag.Extractable, 'extractable'),
  flag(Tag.NeverExtractable, 'neverExtractable'),
  {
    tag: Tag.UsageLimits,
    toNode: ({ usageLimits }) => (usageLimits === undefined ? undefined : limitsNode(usageLimits)),
    fromNode: (node) => (node.type === 'Structure' ? { usageLimits: limitsOf(node) } : {}),
  },
]

const byTag = new Map(typedAttributes.map((attribute) => [attribute.tag, attribute]))

/** Has the attribute a member of its own? All of these have at most one instance. */
export function isTyped(tag: number): boolean {
  return byTag.has(tag)
}

/** The attributes as nodes of 2.x; those that are as of every new object are left out. */
export function typedNodes(members: TypedMembers): readonly TtlvNode[] {
  return typedAttributes.flatMap(({ toNode }) => toNode(members) ?? [])
}

const { processStartAt, protectStopAt, usageLimits } = newObjectDefaults
const { extractable, sensitive, neverExtractable, alwaysSensitive } = newObjectDefaults
const unbounded: TypedMembers = Object.freeze({
  processStartAt,
  protectStopAt,
  usageLimits,
  extractable,
  sensitive,
  neverExtractable,
  alwaysSensitive,
})

/** The members that nodes stand for; of an attribute that is there twice the last one. */
export function membersOf(nodes: readonly TtlvNode[]): TypedMembers {
  let members = unbounded
  for (const node of nodes) {
    const attribute = byTag.get(node.tag)
    if (attribute !== undefined) members = { ...members, ...attribute.fromNode(node) }
  }
  return members
}

function moment(tag: number, member: 'processStartAt' | 'protectStopAt'): TypedAttribute {
  return {
    tag,
    toNode: ({ [member]: at }) => (at === undefined ? undefined : dateTime(tag, Math.floor(at / 1000))),
    fromNode: (node) => (node.type === 'DateTime' ? { [member]: node.value * 1000 } : {}),
  }
}

type Flag = 'extractable' | 'sensitive' | 'neverExtractable' | 'alwaysSensitive'

function flag(tag: number, member: Flag): TypedAttribute {
  return {
    tag,
    toNode: ({ [member]: value }) => (value === newObjectDefaults[member] ? undefined : boolean(tag, value)),
    fromNode: (node) => (node.type === 'Boolean' ? { [member]: node.value } : {}),
  }
}

function limitsNode({ unit, total, left }: UsageLimits): StructureNode {
  return structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, total),
    longInteger(Tag.UsageLimitsCount, left),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit[unit]),
  ])
}

/** A count that is absent is the total. */
function limitsOf(node: StructureNode): UsageLimits {
  const total = memberLong(node, Tag.UsageLimitsTotal) ?? 0n
  const isBytes = memberNumber(node, Tag.UsageLimitsUnit) === Enumeration.UsageLimitsUnit.Byte
  const left = memberLong(node, Tag.UsageLimitsCount) ?? total
  return { unit: isBytes ? 'Byte' : 'Object', total, left }
}
