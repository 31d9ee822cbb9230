import { type EnumerationName, type ValueName, valueName } from '../tables/enumerations.ts'
import { tagText } from '../tables/tags.ts'
import { KmipDecodeError } from './error.ts'
import type { ItemType, ItemValues, NodeOf, StructureNode, TtlvNode } from './node.ts'

/** The members of a structure that have this tag, in order. */
export function membersOf(parent: StructureNode, tag: number): readonly TtlvNode[] {
  return parent.value.filter((member) => member.tag === tag)
}

/** The first member with this tag, whatever its type. */
export function memberOf(parent: StructureNode, tag: number): TtlvNode | undefined {
  for (const member of parent.value) if (member.tag === tag) return member
  return undefined
}

/**
 * The one member with this tag and type, or undefined when there is none.
 * @throws KmipDecodeError `wrong_member` for another type, `repeated_member` when there are two
 */
export function optional<T extends ItemType>(
  parent: StructureNode,
  tag: number,
  type: T,
): ItemValues[T] | undefined {
  let found: TtlvNode | undefined
  for (const member of parent.value) {
    if (member.tag !== tag) continue
    if (found !== undefined) throw new KmipDecodeError('repeated_member', `${tagText(tag)} appears twice.`)
    found = member
  }
  return found === undefined ? undefined : (typed(found, type).value as ItemValues[T])
}

/**
 * The one member with this tag and type.
 * @throws KmipDecodeError `missing_member`, `wrong_member` or `repeated_member`
 */
export function required<T extends ItemType>(parent: StructureNode, tag: number, type: T): ItemValues[T] {
  const value = optional(parent, tag, type)
  if (value === undefined) throw new KmipDecodeError('missing_member', `${tagText(tag)} is missing.`)
  return value
}

/** The one structure with this tag, as a node; else as `optional`. */
export function optionalStructure(parent: StructureNode, tag: number): StructureNode | undefined {
  const value = optional(parent, tag, 'Structure')
  return value === undefined ? undefined : { tag, type: 'Structure', value }
}

/** The one structure with this tag, as a node; else as `required`. */
export function requiredStructure(parent: StructureNode, tag: number): StructureNode {
  return { tag, type: 'Structure', value: required(parent, tag, 'Structure') }
}

/**
 * The name of an enumeration member, e.g. `optionalName(payload, Tag.ObjectType, 'ObjectType')`.
 * @throws KmipDecodeError as `optional`, and `unknown_enumeration` for a number without a name
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
    throw new KmipDecodeError('unknown_enumeration', `${tagText(tag)} has a value that is not known here.`)
  return name
}

/** A node of this type. @throws KmipDecodeError `wrong_member` */
export function typed<T extends ItemType>(node: TtlvNode, type: T): NodeOf<T> {
  if (node.type !== type)
    throw new KmipDecodeError('wrong_member', `${tagText(node.tag)} must be of type ${type}.`)
  return node as NodeOf<T>
}
