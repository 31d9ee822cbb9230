import { type AttributeRow, attributeByLegacyName, attributeIn, findAttribute } from '../tables/attributes.ts'
import { linkTypeIn } from '../tables/operations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { isLegacy, type KmipVersion } from '../tables/versions.ts'
import { findMember, findMembers, optional, requireMember } from '../ttlv/members.ts'
import {
  enumeration,
  integer,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import { ItemRefusal } from './types.ts'

/** Vendor of stored attributes that exist only in 1.x, so that 1.x clients get them back. */
export const legacyVendor = 'KMIP1'

/** A 1.x Attribute as a 2.x attribute node, with the index of its instance. */
export interface LegacyAttribute {
  readonly node: TtlvNode
  readonly index: number | undefined
}

/**
 * 1.x `Attribute {AttributeName, AttributeIndex?, AttributeValue}` -> 2.x node: the typed tag, or a vendor
 * attribute for names that begin with `x-` (the client's) or `y-` (the server's) and for client attributes
 * that 2.x no longer has. @throws ItemRefusal InvalidField for an unknown name or a missing value
 */
export function fromLegacyAttribute(attribute: StructureNode): LegacyAttribute {
  const name = requireMember(attribute, Tag.AttributeName, 'TextString')
  const index = optional(attribute, Tag.AttributeIndex, 'Integer')
  if (index !== undefined && index < 0)
    throw new ItemRefusal('IndexOutOfBounds', 'An attribute index is negative.')
  const value = findMember(attribute, Tag.AttributeValue)
  if (value === undefined) throw new ItemRefusal('InvalidField', 'An attribute has no value.')
  const vendor = vendorName(name)
  if (vendor !== undefined) return { node: vendorAttribute(vendor, value), index }
  const row = attributeByLegacyName(name)
  if (row === undefined) throw new ItemRefusal('InvalidField', 'An attribute has an unknown name.')
  if (isKeptFor1x(row))
    return { node: vendorAttribute({ vendor: legacyVendor, name: row.legacyName ?? row.name }, value), index }
  if (value.type !== row.type)
    throw new ItemRefusal('InvalidField', `The attribute ${row.name} must be of type ${row.type}.`)
  return { node: { ...value, tag: row.tag }, index }
}

/**
 * 1.x `AttributeName` text -> 2.x AttributeReference: an Enumeration of the tag, or the vendor's structure.
 * An unknown name is not an error: it becomes a reference that matches no attribute.
 */
export function fromLegacyName(name: string): TtlvNode {
  const vendor = vendorName(name)
  const row = vendor === undefined ? attributeByLegacyName(name) : undefined
  if (row !== undefined && !isKeptFor1x(row)) return enumeration(Tag.AttributeReference, row.tag)
  const { vendor: identification, name: plain } = vendor ?? {
    vendor: legacyVendor,
    name: row?.legacyName ?? name,
  }
  return structure(Tag.AttributeReference, [
    textString(Tag.VendorIdentification, identification),
    textString(Tag.AttributeName, plain),
  ])
}

/**
 * Converts a 2.x `Attributes` structure to 1.x Attribute structures, in the same order. The second and later instances
 * have an index: their position, or the value of the AttributeIndex that follows them. Three kinds are omitted:
 * attributes that the client's version does not define, attributes of other vendors, and links of a later type. The
 * other attributes keep their indexes.
 */
export function toLegacyAttributes(
  version: KmipVersion,
  attributes: StructureNode,
): readonly StructureNode[] {
  const seen = new Map<string, number>()
  return attributes.value.flatMap((node, place) => {
    const named = legacyNamed(version, node)
    if (named === undefined) return []
    const said = attributes.value[place + 1]
    const index =
      said?.tag === Tag.AttributeIndex && said.type === 'Integer' ? said.value : (seen.get(named.name) ?? 0)
    seen.set(named.name, index + 1)
    if (isLaterLink(version, node)) return []
    return [legacyAttribute(named, index === 0 ? undefined : index)]
  })
}

/** Clients of 1.x reject unknown link types, together with the other attributes. */
function isLaterLink(version: KmipVersion, node: TtlvNode): boolean {
  if (node.tag !== Tag.Link || node.type !== 'Structure') return false
  const type = optional(node, Tag.LinkType, 'Enumeration')
  return type !== undefined && !linkTypeIn(version, type)
}

/** One 2.x attribute node as a 1.x Attribute with this index; undefined if the version does not have it. */
export function toLegacyAttribute(
  version: KmipVersion,
  node: TtlvNode,
  index: number | undefined,
): StructureNode | undefined {
  const named = legacyNamed(version, node)
  return named && legacyAttribute(named, index)
}

/** A 2.x AttributeReference as the 1.x text; undefined if the version does not have it. */
export function toLegacyName(version: KmipVersion, reference: TtlvNode): string | undefined {
  if (reference.type === 'Enumeration') {
    const row = findAttribute(reference.value)
    return row && attributeIn(version, row) ? row.legacyName : undefined
  }
  return reference.type === 'Structure' ? vendorLegacyName(version, reference) : undefined
}

/** The attributes of a 2.x `Attributes` structure that the client's version has. */
export function attributesIn(version: KmipVersion, attributes: readonly TtlvNode[]): readonly TtlvNode[] {
  return attributes.filter(({ tag }) => {
    const row = findAttribute(tag)
    return row === undefined || attributeIn(version, row)
  })
}

interface Named {
  readonly name: string
  readonly value: TtlvNode
}

function legacyAttribute({ name, value }: Named, index: number | undefined): StructureNode {
  return structure(Tag.Attribute, [
    textString(Tag.AttributeName, name),
    index === undefined ? undefined : integer(Tag.AttributeIndex, index),
    { ...value, tag: Tag.AttributeValue },
  ])
}

function legacyNamed(version: KmipVersion, node: TtlvNode): Named | undefined {
  if (node.tag === Tag.Attribute && node.type === 'Structure') {
    const name = vendorLegacyName(version, node)
    const [value] = findMembers(node, Tag.AttributeValue)
    return name === undefined || value === undefined ? undefined : { name, value }
  }
  const row = findAttribute(node.tag)
  return row?.legacyName !== undefined && attributeIn(version, row)
    ? { name: row.legacyName, value: node }
    : undefined
}

/**
 * Attributes that 2.x dropped become vendor attributes, unless the server derives them from those of 2.x (the
 * names of a certificate).
 */
function isKeptFor1x({ until, readOnly }: AttributeRow): boolean {
  return until !== undefined && !readOnly
}

interface VendorName {
  readonly vendor: string
  readonly name: string
}

/** `x-Barcode` -> vendor `x`, name `Barcode`. */
function vendorName(name: string): VendorName | undefined {
  return /^[xy]-./.test(name) ? { vendor: name.slice(0, 1), name: name.slice(2) } : undefined
}

function vendorLegacyName(version: KmipVersion, node: StructureNode): string | undefined {
  const vendor = optional(node, Tag.VendorIdentification, 'TextString')
  const name = optional(node, Tag.AttributeName, 'TextString')
  if (vendor === undefined || name === undefined) return undefined
  if (vendor === 'x' || vendor === 'y') return `${vendor}-${name}`
  if (vendor !== legacyVendor || !isLegacy(version)) return undefined
  const row: AttributeRow | undefined = attributeByLegacyName(name)
  return row !== undefined && isKeptFor1x(row) ? row.legacyName : undefined
}

function vendorAttribute({ vendor, name }: VendorName, value: TtlvNode): StructureNode {
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, name),
    { ...value, tag: Tag.AttributeValue },
  ])
}
