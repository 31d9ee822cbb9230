import { legacyVendor } from '@warder/kmip/messages'
import { Tag } from '@warder/kmip/tables'
import {
  dateTime,
  findMember,
  memberText,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '@warder/kmip/ttlv'
import { type ManagedObject, maxTags, serverVendor } from '../../../keys/index.ts'
import { kmipFailure } from '../failure/failure.ts'

/** Name of an attribute that is not the standard's, with its vendor (KMIP 2.1 §4.60). */
export interface VendorName {
  readonly vendor: string
  readonly name: string
}

/** The vendor of the attributes that Warder itself defines. */
export const ownVendor = 'warder'
/** Vendor names accepted for tags: clients of another server use them. */
const tagVendors: ReadonlySet<string> = new Set([ownVendor, 'cosmian'])
const tagAttribute = 'tag'
const maxNameLength = 256

/** Name of a vendor attribute, or of a reference to one; undefined when it has none. */
export function readVendorName(node: TtlvNode): VendorName | undefined {
  if (node.type !== 'Structure') return undefined
  const vendor = memberText(node, Tag.VendorIdentification)
  const name = memberText(node, Tag.AttributeName)
  return vendor === undefined || name === undefined ? undefined : { vendor, name }
}

/**
 * Checks a vendor attribute name from a client.
 * @param source other servers have vendor attributes of their own
 * @throws kmipFailure InvalidAttribute, AttributeReadOnly
 */
export function requireVendorName(node: TtlvNode, source: 'client' | 'server' = 'client'): VendorName {
  const named = readVendorName(node)
  if (named === undefined || named.vendor === '' || named.name === '')
    throw kmipFailure('InvalidAttribute', 'A vendor attribute names its vendor and itself.')
  if (named.vendor.length > maxNameLength || named.name.length > maxNameLength)
    throw kmipFailure(
      'InvalidAttribute',
      `The name of a vendor attribute has at most ${maxNameLength} characters.`,
    )
  const reserved = isServerName(named) && source === 'client'
  if (reserved || (named.vendor === ownVendor && !isTagName(named)))
    throw kmipFailure('AttributeReadOnly', 'DENIED')
  return named
}

/** Does only a server set this attribute, so that no client changes it and no other object inherits it? */
export function isServerName({ vendor }: VendorName): boolean {
  return vendor === serverVendor
}

/** Attributes that only 1.x has (Operation Policy Name …) are kept, but fixed at creation. */
export function isLegacyName({ vendor }: VendorName): boolean {
  return vendor === legacyVendor
}

/** Is this the vendor attribute that carries the object's tags? */
export function isTagName({ vendor, name }: VendorName): boolean {
  return name === tagAttribute && tagVendors.has(vendor)
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

const maxTagLength = 256

/**
 * The tags that such an attribute lists: a JSON array of strings, as text or its bytes.
 * @throws kmipFailure InvalidAttributeValue
 */
export function readTags(node: TtlvNode): readonly string[] {
  const value = node.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
  const tags = parseTags(value)
  if (tags === undefined || tags.length > maxTags || !tags.every(isTag))
    throw kmipFailure(
      'InvalidAttributeValue',
      `Tags are a JSON array of at most ${maxTags} texts of 1 to ${maxTagLength} characters, none of which begins with _.`,
    )
  return [...new Set(tags)].sort()
}

function parseTags(value: TtlvNode | undefined): readonly unknown[] | undefined {
  const text =
    value?.type === 'TextString'
      ? value.value
      : value?.type === 'ByteString'
        ? Buffer.from(value.value).toString('utf8')
        : undefined
  if (text === undefined || text.length > maxTags * (maxTagLength * 6 + 3)) return undefined
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : undefined
  } catch {
    return undefined
  }
}

function isTag(tag: unknown): tag is string {
  return (
    typeof tag === 'string' &&
    tag.length > 0 &&
    tag.length <= maxTagLength &&
    !tag.startsWith('_') &&
    tag.isWellFormed() &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    !/[\u0000-\u001f\u007f]/.test(tag)
  )
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
