import { findMember, memberText, Tag, type TtlvNode } from '@warder/kmip-codec'
import { serverVendor } from '../../attributes/replacement.ts'
import { maxTags } from '../name-link-tag-store.ts'
import { refusal } from '../refusal.ts'

/** Name of an attribute that is not the standard's, with its vendor (KMIP 2.1 §4.60). */
export interface VendorName {
  readonly vendor: string
  readonly name: string
}

/** The vendor of the attributes that Warder itself defines. */
export const ownVendor = 'warder'
/** Vendor names accepted for tags: clients of another server use them. */
const tagVendors: ReadonlySet<string> = new Set([ownVendor, 'cosmian'])
export const tagAttribute = 'tag'
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
 * @throws Refusal InvalidAttribute, AttributeReadOnly
 */
export function requireVendorName(node: TtlvNode, source: 'client' | 'server' = 'client'): VendorName {
  const named = readVendorName(node)
  if (named === undefined || named.vendor === '' || named.name === '')
    throw refusal('InvalidAttribute', 'A vendor attribute names its vendor and itself.')
  if (named.vendor.length > maxNameLength || named.name.length > maxNameLength)
    throw refusal(
      'InvalidAttribute',
      `The name of a vendor attribute has at most ${maxNameLength} characters.`,
    )
  const reserved = isServerName(named) && source === 'client'
  if (reserved || (named.vendor === ownVendor && !isTagName(named)))
    throw refusal('AttributeReadOnly', 'DENIED')
  return named
}

/** Does only a server set this attribute, so that no client changes it and no other object inherits it? */
export function isServerName({ vendor }: VendorName): boolean {
  return vendor === serverVendor
}

/** Is this the vendor attribute that carries the object's tags? */
export function isTagName({ vendor, name }: VendorName): boolean {
  return name === tagAttribute && tagVendors.has(vendor)
}

const maxTagLength = 256

/**
 * The tags that such an attribute lists: a JSON array of strings, as text or its bytes.
 * @throws Refusal InvalidAttributeValue
 */
export function readTags(node: TtlvNode): readonly string[] {
  const value = node.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
  const tags = parseTags(value)
  if (tags === undefined || tags.length > maxTags || !tags.every(isTag))
    throw refusal(
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
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression refuses them
    !/[\u0000-\u001f\u007f]/.test(tag)
  )
}
