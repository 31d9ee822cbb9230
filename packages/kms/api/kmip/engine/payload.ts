import { type EnumerationName, Tag, tagText, type ValueName } from '@warder/kmip/tables'
import {
  KmipDecodeError,
  memberOf,
  optionalName,
  type StructureNode,
  type TtlvNode,
  textString,
} from '@warder/kmip/ttlv'

/**
 * The name of an enumeration member that must be there, e.g. `requiredName(payload, Tag.ObjectType, 'ObjectType')`.
 * Its optional sibling, and `required`, `optional`, `requiredStructure` … are those of `@warder/kmip/ttlv`.
 * @throws KmipDecodeError
 */
export function requiredName<E extends EnumerationName>(
  parent: StructureNode,
  tag: number,
  enumeration: E,
): ValueName<E> {
  const name = optionalName(parent, tag, enumeration)
  if (name === undefined) throw new KmipDecodeError('missing_member', `${tagText(tag)} is missing.`)
  return name
}

/** The members of a structure such as Attributes, or none when it is absent. @throws KmipDecodeError */
export function membersWithin(parent: StructureNode, tag: number): readonly TtlvNode[] {
  const node = memberOf(parent, tag)
  if (node === undefined) return []
  if (node.type !== 'Structure')
    throw new KmipDecodeError('wrong_member', `${tagText(tag)} must be of type Structure.`)
  return node.value
}

/** UniqueIdentifier of a reply. */
export function uniqueIdentifier(id: string): TtlvNode {
  return textString(Tag.UniqueIdentifier, id)
}
