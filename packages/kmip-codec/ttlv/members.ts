import { type EnumerationName, type ItemType, type ValueName, valueName } from '../tables/enumerations.ts'
import { tagText } from '../tables/tags.ts'
import { KmipDecodeError } from './error.ts'
import type { ItemValues, NodeOf, StructureNode, TtlvNode } from './node.ts'

/** The members of a structure that have this tag, in order. */
export function findMembers(parent: StructureNode, tag: number): readonly TtlvNode[] {
  return parent.value.filter((member) => member.tag === tag)
}

/** The first member with this tag, whatever its type. */
export function findMember(parent: StructureNode, tag: number): TtlvNode | undefined {
  for (const member of parent.value) if (member.tag === tag) return member
  return undefined
}

/**
 * The only member with this tag and type, or undefined.
 * @throws KmipDecodeError `wrong_member` for another type, `repeated_member` when there are two
 */
export function optional<T extends ItemType>(
  parent: Pick<StructureNode, 'value'>,
  tag: number,
  type: T,
): ItemValues[T] | undefined {
  let found: TtlvNode | undefined
  for (const member of parent.value) {
    if (member.tag !== tag) continue
    if (found !== undefined) throw new KmipDecodeError('repeated_member', `${tagText(tag)} appears twice.`)
    found = member
  }
  return found === undefined ? undefined : (requireType(found, type).value as ItemValues[T])
}

/**
 * The only member with this tag and type.
 * @throws KmipDecodeError `missing_member`, `wrong_member` or `repeated_member`
 */
export function requireMember<T extends ItemType>(
  parent: StructureNode,
  tag: number,
  type: T,
): ItemValues[T] {
  const value = optional(parent, tag, type)
  if (value === undefined) throw new KmipDecodeError('missing_member', `${tagText(tag)} is missing.`)
  return value
}

/** The only structure with this tag, as a node; otherwise like `optional`. */
export function optionalStructure(
  parent: Pick<StructureNode, 'value'>,
  tag: number,
): StructureNode | undefined {
  const value = optional(parent, tag, 'Structure')
  return value === undefined ? undefined : { tag, type: 'Structure', value }
}

/** The only structure with this tag, as a node; otherwise like `requireMember`. */
export function requireStructure(parent: StructureNode, tag: number): StructureNode {
  return { tag, type: 'Structure', value: requireMember(parent, tag, 'Structure') }
}

/**
 * The name of an enumeration member, e.g. `optionalName(payload, Tag.ObjectType, 'ObjectType')`.
 * @throws KmipDecodeError like `optional`, and `unknown_enumeration` for a number without a name
 */
export function optionalName<E extends EnumerationName>(
  parent: StructureNode,
  tag: number,
  enumeration: E,
): ValueName<E> | undefined {
  const value = optional(parent, tag, 'Enumeration')
  if (value === undefined) return undefined
  const name = valueName(enumeration, value)
  if (name === undefined)
    throw new KmipDecodeError('unknown_enumeration', `${tagText(tag)} has an unknown value.`)
  return name
}

/**
 * The name of a mandatory enumeration member.
 * @throws KmipDecodeError like `optionalName`, and `missing_member`
 */
export function requireName<E extends EnumerationName>(
  parent: StructureNode,
  tag: number,
  enumeration: E,
): ValueName<E> {
  const name = optionalName(parent, tag, enumeration)
  if (name === undefined) throw new KmipDecodeError('missing_member', `${tagText(tag)} is missing.`)
  return name
}

/** Checks the type of a node. @throws KmipDecodeError `wrong_member` */
export function requireType<T extends ItemType>(node: TtlvNode, type: T): NodeOf<T> {
  if (node.type !== type)
    throw new KmipDecodeError('wrong_member', `${tagText(node.tag)} must be of type ${type}.`)
  return node as NodeOf<T>
}

/** Whether two nodes have equal contents; their tags may differ. */
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

/** Text of a member of a structure; undefined when it is absent or not a text. */
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
