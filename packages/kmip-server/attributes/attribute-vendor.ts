import { type ManagedObject, ownVendor, tagAttribute, type VendorName } from '@warder/keys'
import {
  dateTime,
  findMember,
  legacyVendor,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'

/** Attributes that only 1.x has (Operation Policy Name …) are kept, but fixed at creation. */
export function isLegacyName({ vendor }: VendorName): boolean {
  return vendor === legacyVendor
}

export function sameVendorName(one: VendorName, other: VendorName): boolean {
  return one.name === other.name && one.vendor === other.vendor
}

/** The tags of an object as the attribute that carries them: a JSON array in text. undefined when it has none. */
export function tagsNode(tags: readonly string[], vendor = ownVendor): StructureNode | undefined {
  if (tags.length === 0) return undefined
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, tagAttribute),
    textString(Tag.AttributeValue, JSON.stringify(tags)),
  ])
}

/** Vendor attributes with the reasons why an object is disabled; the standard has none. No client changes them. */
export function withholdingAttributes({
  disabledAt,
  destructionAt,
}: Pick<ManagedObject, 'disabledAt' | 'destructionAt'>): readonly StructureNode[] {
  const dates = [
    ['disabled-date', disabledAt],
    ['destruction-date', destructionAt],
  ] as const
  return dates.flatMap(([name, at]) =>
    at === undefined
      ? []
      : [
          structure(Tag.Attribute, [
            textString(Tag.VendorIdentification, ownVendor),
            textString(Tag.AttributeName, name),
            dateTime(Tag.AttributeValue, Math.floor(at / 1000)),
          ]),
        ],
  )
}

/** Vendor attribute with the version of the key in an HSM that wraps the material in the database. No client changes it. */
export function wrappingAttribute({
  wrappingKey,
}: Pick<ManagedObject, 'wrappingKey'>): readonly StructureNode[] {
  if (wrappingKey === undefined) return []
  return [
    structure(Tag.Attribute, [
      textString(Tag.VendorIdentification, ownVendor),
      textString(Tag.AttributeName, 'wrapping-key'),
      textString(Tag.AttributeValue, wrappingKey),
    ]),
  ]
}

/** The value of a vendor attribute as a node with its own type. @throws kmipFailure InvalidAttribute */
export function toVendorMember(node: TtlvNode): TtlvNode {
  const value = node.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
  if (value === undefined) throw kmipFailure('InvalidAttribute', 'A vendor attribute has a value.')
  return value
}

/** The vendor attribute with another value. */
export function withVendorValue(node: TtlvNode, value: TtlvNode): TtlvNode {
  if (node.type !== 'Structure') return node
  return structure(
    node.tag,
    node.value.map((member) => (member.tag === Tag.AttributeValue ? value : member)),
  )
}
