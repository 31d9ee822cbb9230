import { attributeRule, isTagName, readVendorName, requireRule, type VendorName } from '@warder/keys'
import {
  attributeIn,
  draftVersion,
  type KmipVersion,
  linkTypeOfTag,
  memberNumber,
  Tag,
  type TtlvNode,
  tagText,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { sameVendorName } from './attribute-vendor.ts'

/** Identifies an attribute: one of the standard, or one of a vendor. */
export interface AttributeName {
  readonly tag: number
  /** Of vendor attributes only. */
  readonly vendor: VendorName | undefined
  /** Of links only: 3.0 names each kind of link. */
  readonly linkType?: number
}

/**
 * Name in an AttributeReference; undefined when no object can have this attribute.
 * @throws kmipFailure InvalidField when it is neither an enumeration nor the structure of a vendor attribute
 */
export function readReferredName(reference: TtlvNode, version: KmipVersion): AttributeName | undefined {
  if (reference.type === 'Enumeration') {
    const linkType = version === draftVersion ? linkTypeOfTag(reference.value) : undefined
    if (linkType !== undefined) return { tag: Tag.Link, vendor: undefined, linkType }
    return attributeRule(reference.value) === undefined
      ? undefined
      : { tag: reference.value, vendor: undefined }
  }
  const vendor = readVendorName(reference)
  if (vendor === undefined) throw kmipFailure('InvalidField', 'An attribute reference names one attribute.')
  return { tag: Tag.Attribute, vendor }
}

/** Name of an attribute. @throws kmipFailure InvalidAttribute when its tag is not that of an attribute */
export function readAttributeName(node: TtlvNode): AttributeName {
  requireRule(node.tag)
  if (node.tag !== Tag.Attribute) return { tag: node.tag, vendor: undefined }
  const vendor = readVendorName(node)
  if (vendor === undefined)
    throw kmipFailure('InvalidAttribute', 'A vendor attribute names its vendor and itself.')
  return { tag: node.tag, vendor }
}

/** Does the client's version have the attribute? Every version has vendor attributes: `x-…` in 1.x. */
export function isKnownAttribute(version: KmipVersion, tag: number): boolean {
  return tag === Tag.Attribute || attributeIn(version, requireRule(tag))
}

/** Is this node an instance of the attribute of that name? */
export function isCalled(node: TtlvNode, { tag, vendor, linkType }: AttributeName): boolean {
  if (linkType !== undefined) return node.tag === tag && linkTypeIn(node) === linkType
  if (node.tag !== tag || vendor === undefined) return node.tag === tag
  const other = readVendorName(node)
  return other !== undefined && (sameVendorName(other, vendor) || (isTagName(other) && isTagName(vendor)))
}

/** The kind of a link; undefined for other attributes. */
export function linkTypeIn(node: TtlvNode): number | undefined {
  if (node.tag !== Tag.Link) return undefined

  return node.type === 'Structure' ? memberNumber(node, Tag.LinkType) : undefined
}

/** For messages: `Name`, `x-attribute1`. */
export function formatName({ tag, vendor }: AttributeName): string {
  return vendor === undefined ? tagText(tag) : `${vendor.vendor}-${vendor.name}`.slice(0, 128)
}
