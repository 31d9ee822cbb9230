import { decodeMembers, type JsonForm, jsonValue } from '@warder/kmip/json'
import { Tag } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import { ClientAttributes, type ManagedObject } from '../../../keys/index.ts'
import { isTyped, membersOf, type TypedMembers, typedNodes } from './typed-attributes.ts'

/**
 * Indexes that no instance has, below one that some instance has, by the name of the attribute. They are kept with the
 * object because the index by which 1.x knows an instance does not change when others are added or deleted (KMIP 1.4
 * §2.1.1). Instances stand in the order of their indexes, and the next one takes the lowest gap.
 */
export type IndexGaps = Readonly<Record<string, readonly number[]>>

/** Contents of the column `kmip`. */
interface Own {
  readonly nodes: readonly TtlvNode[]
  readonly gaps: IndexGaps
}

/** Members of an object that hold its attributes of KMIP, those with members of their own among them. */
export type AttributeMembers = TypedMembers & Pick<ManagedObject, 'kmip'>

const nothing: Own = Object.freeze({ nodes: Object.freeze([]), gaps: Object.freeze({}) })

/**
 * The attributes of an object that are no columns of KMIP's object header, as nodes of 2.x: those with members of their
 * own, then the others in the order in which they were set.
 */
export function storedAttributes(object: AttributeMembers): readonly TtlvNode[] {
  const typed = typedNodes(object)
  const { nodes } = ownOf(object)
  return typed.length === 0 ? nodes : [...typed, ...nodes]
}

/** Stored attributes with this tag. */
export function storedWithTag(object: AttributeMembers, tag: number): readonly TtlvNode[] {
  const from = isTyped(tag) ? typedNodes(object) : ownOf(object).nodes
  return from.filter((node) => node.tag === tag)
}

/** The members of an object with these attributes in place of those it had. */
export function attributeMembers(
  nodes: readonly TtlvNode[],
  before?: Pick<ManagedObject, 'kmip'>,
): AttributeMembers {
  const own = nodes.filter(({ tag }) => !isTyped(tag))
  const gaps = before === undefined ? nothing.gaps : ownOf(before).gaps
  return { ...membersOf(nodes), kmip: written({ nodes: own, gaps }) }
}

/** The object with these attributes in place of those it had. */
export function withStoredAttributes<O extends Pick<ManagedObject, 'kmip'>>(
  object: O,
  nodes: readonly TtlvNode[],
): O & AttributeMembers {
  return { ...object, ...attributeMembers(nodes, object) }
}

export function indexGapsOf(object: Pick<ManagedObject, 'kmip'>): IndexGaps {
  return ownOf(object).gaps
}

export function withIndexGaps<O extends Pick<ManagedObject, 'kmip'>>(object: O, gaps: IndexGaps): O {
  return { ...object, kmip: written({ nodes: ownOf(object).nodes, gaps }) }
}

/** The text of the column; null where there is nothing to write. */
export function writtenAttributes(nodes: readonly TtlvNode[], gaps: IndexGaps = nothing.gaps): string | null {
  return written({ nodes, gaps }).text || null
}

function ownOf({ kmip }: Pick<ManagedObject, 'kmip'>): Own {
  return kmip === ClientAttributes.none ? nothing : kmip.parsed(read)
}

function read(text: string): Own {
  if (text === '') return nothing
  const { attributes, indexGaps } = JSON.parse(text) as { attributes: unknown; indexGaps?: IndexGaps }
  return { nodes: decodeMembers(Tag.Attributes, attributes).value, gaps: indexGaps ?? nothing.gaps }
}

function written(own: Own): ClientAttributes {
  const { nodes, gaps } = own
  const hasGaps = Object.keys(gaps).length > 0
  if (nodes.length === 0 && !hasGaps) return ClientAttributes.none
  const text = JSON.stringify({ attributes: nodes.map(jsonOf), ...(hasGaps && { indexGaps: gaps }) })
  return new ClientAttributes(text, own)
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
