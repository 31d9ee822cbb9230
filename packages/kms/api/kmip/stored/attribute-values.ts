import type { StructureNode, TtlvNode } from '@warder/kmip/ttlv'

/** Do two nodes hold the same, whatever they are called? */
export function sameValue(one: TtlvNode, other: TtlvNode): boolean {
  if (one.type === 'Structure') return other.type === 'Structure' && sameMembers(one, other)
  if (one.type !== other.type) return false
  if (one.value instanceof Uint8Array) {
    return other.value instanceof Uint8Array && Buffer.compare(one.value, other.value) === 0
  }
  return one.value === other.value
}

function sameMembers(one: StructureNode, other: StructureNode): boolean {
  return (
    one.value.length === other.value.length &&
    one.value.every((member, index) => {
      const twin = other.value[index]
      return twin !== undefined && twin.tag === member.tag && sameValue(member, twin)
    })
  )
}

/** Text of a member of a structure; undefined when it is not there or no text. */
export function memberText(parent: StructureNode, tag: number): string | undefined {
  for (const member of parent.value)
    if (member.tag === tag) return member.type === 'TextString' ? member.value : undefined
  return undefined
}

/** Number of an Enumeration or Integer among the members of a structure; undefined when there is none. */
export function memberNumber(parent: StructureNode, tag: number): number | undefined {
  for (const member of parent.value)
    if (member.tag === tag) return typeof member.value === 'number' ? member.value : undefined
  return undefined
}

/** Value of a LongInteger among the members of a structure; undefined when there is none. */
export function memberLong(parent: StructureNode, tag: number): bigint | undefined {
  for (const member of parent.value)
    if (member.tag === tag) return typeof member.value === 'bigint' ? member.value : undefined
  return undefined
}
