import { decodeMembers, type JsonForm, jsonValue } from '@warder/kmip/json'
import { Tag } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import { type IndexGaps, type ManagedObject, ObjectAttributes } from '../../../keys/index.ts'
import { isTyped, membersOf, type TypedMembers, typedNodes } from './typed-attributes.ts'

/** Members of an object that hold its attributes of KMIP, those with members of their own among them. */
export type AttributeMembers = TypedMembers & Pick<ManagedObject, 'attributes'>

/** Attributes that were read from nodes, or as nodes, before. */
const decoded = new WeakMap<ObjectAttributes, readonly TtlvNode[]>()

/**
 * The attributes of an object that are no columns of KMIP's object header, as nodes of 2.x: those with members of their
 * own, then the others in the order in which they were set.
 */
export function storedAttributes(object: AttributeMembers): readonly TtlvNode[] {
  const typed = typedNodes(object)
  const nodes = ownNodes(object)
  return typed.length === 0 ? nodes : [...typed, ...nodes]
}

/** Stored attributes with this tag. */
export function storedWithTag(object: AttributeMembers, tag: number): readonly TtlvNode[] {
  const from = isTyped(tag) ? typedNodes(object) : ownNodes(object)
  return from.filter((node) => node.tag === tag)
}

/** The members of an object with these attributes in place of those it had. */
export function attributeMembers(
  nodes: readonly TtlvNode[],
  before?: Pick<ManagedObject, 'attributes'>,
): AttributeMembers {
  const own = nodes.filter(({ tag }) => !isTyped(tag))
  return { ...membersOf(nodes), attributes: toAttributes(own, before?.attributes.indexGaps) }
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

/** The text of the column; null where there is nothing to write. */
export function writtenAttributes(nodes: readonly TtlvNode[], gaps?: IndexGaps): string | null {
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
  const attributes = ObjectAttributes.of(nodes.map(jsonOf), gaps)
  decoded.set(attributes, nodes)
  return attributes
}

/** Nodes that many objects have in common are written once. */
const common = new WeakMap<TtlvNode, JsonForm>()

/** An attribute that is the same of many objects. @returns the node that `attributeMembers` recognizes */
export function commonAttribute<N extends TtlvNode>(node: N): N {
  common.set(node, jsonValue(node))
  return node
}

function jsonOf(node: TtlvNode): JsonForm {
  return common.get(node) ?? jsonValue(node)
}
