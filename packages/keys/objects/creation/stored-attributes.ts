import {
  boolean,
  dateTime,
  decodeMembers,
  Enumeration,
  type EnumerationName,
  type EnumerationNode,
  enumeration,
  type JsonForm,
  jsonValue,
  longInteger,
  memberLong,
  memberNumber,
  memberText,
  type StructureNode,
  sameValue,
  structure,
  Tag,
  type TtlvNode,
  textString,
  valueByName,
  valueName,
} from '@warder/kmip-codec'
import { type AlgorithmName, toKmipAlgorithm } from '../../attributes/key-names.ts'
import { type IndexGaps, ObjectAttributes } from '../../attributes/object-attributes.ts'
import {
  type ManagedObject,
  newObjectDefaults,
  type ObjectLink,
  type ObjectName,
  type UsageLimits,
} from '../managed-object.ts'

/** Members of an object that contain its KMIP attributes, including those with their own members. */
export type AttributeMembers = TypedMembers & Pick<ManagedObject, 'attributes'>

/** Cache of attributes that were already converted from or to nodes. */
const decoded = new WeakMap<ObjectAttributes, readonly TtlvNode[]>()

/**
 * The attributes of an object that are not columns of KMIP's object header, as nodes of 2.x: first those with their own
 * members, then the others in the order in which they were set.
 */
export function readStoredAttributes(object: AttributeMembers): readonly TtlvNode[] {
  const typed = listTypedNodes(object)
  const nodes = ownNodes(object)
  return typed.length === 0 ? nodes : [...typed, ...nodes]
}

/** Stored attributes with this tag. */
export function readStoredWithTag(object: AttributeMembers, tag: number): readonly TtlvNode[] {
  const from = isTyped(tag) ? listTypedNodes(object) : ownNodes(object)
  return from.filter((node) => node.tag === tag)
}

/** The members of an object with these attributes in place of those it had. */
export function attributeMembers(
  nodes: readonly TtlvNode[],
  before?: Pick<ManagedObject, 'attributes'>,
): AttributeMembers {
  const own = nodes.filter(({ tag }) => !isTyped(tag))
  return { ...toMembers(nodes), attributes: toAttributes(own, before?.attributes.indexGaps) }
}

/** The object with these attributes in place of those it had. */
export function withStoredAttributes<O extends Pick<ManagedObject, 'attributes'>>(
  object: O,
  nodes: readonly TtlvNode[],
): O & AttributeMembers {
  return { ...object, ...attributeMembers(nodes, object) }
}

export function withIndexGaps<O extends Pick<ManagedObject, 'attributes'>>(object: O, gaps: IndexGaps): O {
  return { ...object, attributes: toAttributes(ownNodes(object), gaps) }
}

/** The text of the column; null if it is empty. */
export function writeAttributes(nodes: readonly TtlvNode[], gaps?: IndexGaps): string | null {
  return toAttributes(nodes, gaps).text || null
}

function ownNodes({ attributes }: Pick<ManagedObject, 'attributes'>): readonly TtlvNode[] {
  const known = decoded.get(attributes)
  if (known !== undefined) return known
  const nodes = decodeMembers(Tag.Attributes, attributes.values).value
  decoded.set(attributes, nodes)
  return nodes
}

function toAttributes(nodes: readonly TtlvNode[], gaps?: IndexGaps): ObjectAttributes {
  const attributes = ObjectAttributes.of(nodes.map(toJson), gaps)
  decoded.set(attributes, nodes)
  return attributes
}

/** Nodes that many objects have in common are encoded once. */
const common = new WeakMap<TtlvNode, JsonForm>()

/** An attribute that is the same for many objects. @returns the node that `attributeMembers` recognizes */
export function commonAttribute<N extends TtlvNode>(node: N): N {
  common.set(node, jsonValue(node))
  return node
}

function toJson(node: TtlvNode): JsonForm {
  return common.get(node) ?? jsonValue(node)
}

/** Defaults of these members for an object without attributes; their names are the members. */
const unbounded = Object.freeze({
  processStartAt: newObjectDefaults.processStartAt,
  protectStopAt: newObjectDefaults.protectStopAt,
  usageLimits: newObjectDefaults.usageLimits,
  extractable: newObjectDefaults.extractable,
  sensitive: newObjectDefaults.sensitive,
  neverExtractable: newObjectDefaults.neverExtractable,
  alwaysSensitive: newObjectDefaults.alwaysSensitive,
  names: newObjectDefaults.names,
  links: newObjectDefaults.links,
})

/** Members of an object that are attributes of KMIP and mean the same over every protocol. */
export type TypedMembers = Pick<ManagedObject, keyof typeof unbounded>

export const typedMemberNames = Object.keys(unbounded) as readonly (keyof TypedMembers)[]

interface TypedAttribute {
  readonly tag: number
  /** No nodes: the object has the default value. */
  toNodes(members: TypedMembers): readonly TtlvNode[]
  /** @param nodes all with this tag, at least one */
  fromNodes(nodes: readonly TtlvNode[]): Partial<TypedMembers>
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
    toNodes: ({ usageLimits }) => (usageLimits === undefined ? [] : [limitsNode(usageLimits)]),
    fromNodes: (nodes) => ({ usageLimits: findStructures(nodes).map(readLimits).at(-1) }),
  },
  {
    tag: Tag.Name,
    toNodes: ({ names }) => names.map(nameNode),
    fromNodes: (nodes) => ({ names: findStructures(nodes).map(readName) }),
  },
  {
    tag: Tag.Link,
    toNodes: ({ links }) => links.map(linkNode),
    fromNodes: (nodes) => ({ links: findStructures(nodes).map(readLink) }),
  },
]

const tags = new Set(typedAttributes.map(({ tag }) => tag))

/** Does the attribute have its own member? */
export function isTyped(tag: number): boolean {
  return tags.has(tag)
}

/** Is it the same instance of an attribute? Attributes with their own member get new nodes each time they are read. */
export function isSameInstance(one: TtlvNode, other: TtlvNode): boolean {
  if (one === other) return true
  if (one.tag !== other.tag || !isTyped(one.tag)) return false
  return one.tag === Tag.Name || one.tag === Tag.Link ? sameValue(one, other) : true
}

/** The attributes as nodes of 2.x; those with default values are omitted. */
function listTypedNodes(members: TypedMembers): readonly TtlvNode[] {
  return typedAttributes.flatMap(({ toNodes }) => toNodes(members))
}

/** Converts nodes to members; the last instance of a repeated attribute applies. */
export function toMembers(nodes: readonly TtlvNode[]): TypedMembers {
  let members: TypedMembers = unbounded
  for (const { tag, fromNodes } of typedAttributes) {
    const own = nodes.filter((node) => node.tag === tag)
    if (own.length > 0) members = { ...members, ...fromNodes(own) }
  }
  return members
}

function moment(tag: number, member: 'processStartAt' | 'protectStopAt'): TypedAttribute {
  return {
    tag,
    toNodes: ({ [member]: at }) => (at === undefined ? [] : [dateTime(tag, Math.floor(at / 1000))]),
    fromNodes: (nodes) => {
      const node = nodes.at(-1)
      return node?.type === 'DateTime' ? { [member]: node.value * 1000 } : {}
    },
  }
}

type Flag = 'extractable' | 'sensitive' | 'neverExtractable' | 'alwaysSensitive'

function flag(tag: number, member: Flag): TypedAttribute {
  return {
    tag,
    toNodes: ({ [member]: value }) => (value === newObjectDefaults[member] ? [] : [boolean(tag, value)]),
    fromNodes: (nodes) => {
      const node = nodes.at(-1)
      return node?.type === 'Boolean' ? { [member]: node.value } : {}
    },
  }
}

function findStructures(nodes: readonly TtlvNode[]): readonly StructureNode[] {
  return nodes.filter((node) => node.type === 'Structure')
}

function nameNode({ name, type }: ObjectName): StructureNode {
  return structure(Tag.Name, [
    textString(Tag.NameValue, name),
    enumeration(Tag.NameType, numberNamed('NameType', type)),
  ])
}

function readName(node: StructureNode): ObjectName {
  const type = typeText('NameType', memberNumber(node, Tag.NameType))
  return { name: memberText(node, Tag.NameValue) ?? '', type }
}

export function linkNode({ kind, id }: ObjectLink): StructureNode {
  return structure(Tag.Link, [
    enumeration(Tag.LinkType, numberNamed('LinkType', kind)),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
}

function readLink(node: StructureNode): ObjectLink {
  const kind = typeText('LinkType', memberNumber(node, Tag.LinkType))
  return { kind, id: memberText(node, Tag.LinkedObjectIdentifier) ?? '' }
}

/** The name of an enumeration value, or the number of a vendor extension. */
export function typeText(enumeration: EnumerationName, value: number | undefined): string {
  return value === undefined ? '' : (valueName(enumeration, value) ?? `0x${value.toString(16)}`)
}

/** The number for the text of `typeText`. */
function numberNamed(enumeration: EnumerationName, text: string): number {
  return valueByName(enumeration, text) ?? Number(text)
}

function limitsNode({ unit, total, left }: UsageLimits): StructureNode {
  return structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, total),
    longInteger(Tag.UsageLimitsCount, left),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit[unit]),
  ])
}

/** An absent count means the total. */
function readLimits(node: StructureNode): UsageLimits {
  const total = memberLong(node, Tag.UsageLimitsTotal) ?? 0n
  const isBytes = memberNumber(node, Tag.UsageLimitsUnit) === Enumeration.UsageLimitsUnit.Byte
  const left = memberLong(node, Tag.UsageLimitsCount) ?? total
  return { unit: isBytes ? 'Byte' : 'Object', total, left }
}

/** The algorithm as the client named it: EC keys may be named ECDSA or ECDH, and are returned with that name. */
export function algorithmNode(algorithm: AlgorithmName): TtlvNode {
  return enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm])
}

/** The algorithm in the columns, as an attribute. */
export function defaultAlgorithm(
  object: Pick<ManagedObject, 'algorithm' | 'boundAlg'>,
): EnumerationNode | undefined {
  const name = toKmipAlgorithm(object)
  const value = name === undefined ? undefined : valueByName('CryptographicAlgorithm', name)
  return value === undefined ? undefined : enumeration(Tag.CryptographicAlgorithm, value)
}
