import { type IndexGaps, type ManagedObject, withIndexGaps } from '@warder/keys'
import { integer, Tag, type TtlvNode, tagText } from '@warder/kmip-codec'
import { type AttributeName, readAttributeName } from './attribute-name.ts'

type WithAttributes = Pick<ManagedObject, 'attributes'>

function toIndexKey({ tag, vendor }: AttributeName): string {
  return vendor === undefined ? tagText(tag) : JSON.stringify([vendor.vendor, vendor.name])
}

/** The indexes of the instances of a name, of which there are `count`. */
export function assignIndexes(object: WithAttributes, name: AttributeName, count: number): readonly number[] {
  const gaps = new Set(object.attributes.indexGaps[toIndexKey(name)])
  const indexes: number[] = []
  for (let index = 0; indexes.length < count; index++) if (!gaps.has(index)) indexes.push(index)
  return indexes
}

/** The index of an additional instance: the lowest free one. */
export function freeIndex(indexes: readonly number[]): number {
  const gap = indexes.findIndex((index, place) => index !== place)
  return gap < 0 ? indexes.length : gap
}

/** The object when the instances of this name have these indexes. */
export function withIndexes<O extends WithAttributes>(
  object: O,
  name: AttributeName,
  indexes: readonly number[],
): O {
  const { [toIndexKey(name)]: _gone, ...others } = object.attributes.indexGaps
  const taken = new Set(indexes)
  const own = Array.from({ length: (indexes.at(-1) ?? -1) + 1 }, (_, index) => index).filter(
    (index) => !taken.has(index),
  )
  const gaps: IndexGaps = own.length === 0 ? others : { ...others, [toIndexKey(name)]: own }
  return withIndexGaps(object, gaps)
}

/**
 * Attributes as 1.x clients get them: an AttributeIndex follows each one whose index is not its position.
 * @param nodes of each name all instances, in their order
 */
export function indexNodes(object: WithAttributes, nodes: readonly TtlvNode[]): readonly TtlvNode[] {
  const gaps = object.attributes.indexGaps
  if (Object.keys(gaps).length === 0) return nodes
  const counts = new Map<string, number>()
  for (const node of nodes) {
    const key = toIndexKey(readAttributeName(node))
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const left = new Map<string, number[]>()
  return nodes.flatMap((node) => {
    const name = readAttributeName(node)
    const key = toIndexKey(name)
    if (gaps[key] === undefined) return [node]
    const indexes = left.get(key) ?? [...assignIndexes(object, name, counts.get(key) ?? 0)]
    left.set(key, indexes)
    return [node, integer(Tag.AttributeIndex, indexes.shift() ?? 0)]
  })
}
