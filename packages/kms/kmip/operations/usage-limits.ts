import { Tag } from '@warder/kmip/tables'
import { longInteger, type StructureNode, structure, type TtlvNode } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../objects/index.ts'
import { attributeBag, storedAttributes } from '../object/index.ts'

/** The UsageLimits of an object (KMIP 2.1 §4.59); undefined: it may be used without end. */
export function usageLimits(object: ManagedObject): StructureNode | undefined {
  for (const node of storedAttributes(object))
    if (node.tag === Tag.UsageLimits && node.type === 'Structure') return node
  return undefined
}

/** What is left to use: UsageLimitsCount, at first the total. */
export function usageLeft(limits: StructureNode): bigint {
  const long = (tag: number): bigint | undefined => {
    const node = limits.value.find((member) => member.tag === tag)
    return node?.type === 'LongInteger' ? node.value : undefined
  }
  return long(Tag.UsageLimitsCount) ?? long(Tag.UsageLimitsTotal) ?? 0n
}

/** The attributes of an object of which `left` is left to use. */
export function withUsageLeft(object: ManagedObject, left: bigint): ManagedObject['attributes'] {
  const nodes = storedAttributes(object).map(
    (node): TtlvNode =>
      node.tag === Tag.UsageLimits && node.type === 'Structure' ? counted(node, left) : node,
  )
  return attributeBag(object.attributes, nodes)
}

function counted(limits: StructureNode, left: bigint): StructureNode {
  const others = limits.value.filter(({ tag }) => tag !== Tag.UsageLimitsCount)
  const at = others.findIndex(({ tag }) => tag === Tag.UsageLimitsTotal) + 1
  const count = longInteger(Tag.UsageLimitsCount, left)
  return structure(limits.tag, [...others.slice(0, at), count, ...others.slice(at)])
}
