import { decodeMembers, type JsonForm, jsonValue } from '@warder/kmip/json'
import { Tag } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../objects/index.ts'

type Bag = ManagedObject['attributes']

const read = new WeakMap<Bag, readonly TtlvNode[]>()
const none: readonly TtlvNode[] = Object.freeze([])

/**
 * The attributes of an object that have no column of their own, as nodes of KMIP 2.x, in the order in which they were
 * set. Read once for each row that is in memory.
 */
export function storedAttributes({ attributes }: Pick<ManagedObject, 'attributes'>): readonly TtlvNode[] {
  if (attributes.kmip === undefined) return none
  const known = read.get(attributes)
  if (known !== undefined) return known
  const nodes = decodeMembers(Tag.Attributes, attributes.kmip).value
  read.set(attributes, nodes)
  return nodes
}

/** The object with these attributes in place of those it had. */
export function withStoredAttributes<O extends Pick<ManagedObject, 'attributes'>>(
  object: O,
  nodes: readonly TtlvNode[],
): O {
  return { ...object, attributes: attributeBag(object.attributes, nodes) }
}

/** The JSON member of a row that holds these attributes, beside what it held already. */
export function attributeBag(before: Bag, nodes: readonly TtlvNode[]): Bag {
  const { kmip: _replaced, ...rest } = before
  if (nodes.length === 0) return rest
  const bag: Bag = { ...rest, kmip: nodes.map(jsonOf) }
  read.set(bag, nodes)
  return bag
}

/** Nodes that many objects have in common are written once. */
const common = new WeakMap<TtlvNode, JsonForm>()

/** An attribute that is the same of many objects. @returns the node that `attributeBag` knows again */
export function commonAttribute<N extends TtlvNode>(node: N): N {
  common.set(node, jsonValue(node))
  return node
}

function jsonOf(node: TtlvNode): JsonForm {
  return common.get(node) ?? jsonValue(node)
}

/** Stored attributes with this tag. */
export function storedWithTag(object: Pick<ManagedObject, 'attributes'>, tag: number): readonly TtlvNode[] {
  return storedAttributes(object).filter((node) => node.tag === tag)
}
