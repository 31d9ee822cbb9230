import { valueByName, valueName } from '../tables/enumerations.ts'
import { normaliseName } from '../tables/names.ts'
import { Tag } from '../tables/tags.gen.ts'
import { tagByName } from '../tables/tags.ts'
import { KmipDecodeError } from '../ttlv/error.ts'

/** A node as written in JSON. */
export interface JsonNode {
  readonly name: string
  /** The tag with that name, if any. */
  readonly tag: number | undefined
  readonly type: string | undefined
  readonly value: unknown
}

type Shape = (value: unknown) => JsonNode

/**
 * Removes structures that some clients wrap around the standard's members, one level each:
 * - `VendorAttributes` around vendor attributes, themselves called `VendorAttributes` or `Attribute`:
 *   `Attribute`
 * - `CertificateAttributes` around the parts of a certificate's names: the parts
 * - a list around repeated members, with the same tag (`Link` of `Link`): the members
 * - `Object` instead of the object's own tag: the tag given by the `ObjectType` beside it
 * - `KeyMaterial` as a structure of one `ByteString`: the bytes
 *
 * `tolerances.ts` lists the clients that need each.
 */
export function unwrapMembers(members: readonly JsonNode[], shape: Shape): readonly JsonNode[] {
  if (!members.some((member) => isWrapped(member, shape))) return members
  return members.flatMap((member) => unwrap(member, members, shape))
}

function isWrapped(member: JsonNode, shape: Shape): boolean {
  return (
    member.tag === undefined ||
    listOfItself(member, shape) !== undefined ||
    bytesOfMaterial(member, shape) !== undefined
  )
}

function unwrap(member: JsonNode, siblings: readonly JsonNode[], shape: Shape): readonly JsonNode[] {
  const own = listOfItself(member, shape)
  switch (member.tag === undefined ? normaliseName(member.name) : '') {
    case 'vendorattributes':
      return vendorAttributes(member, shape)
    case 'certificateattributes':
      return requireArray(member).map(shape)
    case 'object':
      return [renameMember(member, objectName(siblings))]
    default:
      return own ?? [bytesOfMaterial(member, shape) ?? member]
  }
}

/** KeyMaterial with the bytes of the structure in it; undefined for other members. */
function bytesOfMaterial(member: JsonNode, shape: Shape): JsonNode | undefined {
  if (member.tag !== Tag.KeyMaterial || !Array.isArray(member.value) || member.value.length !== 1)
    return undefined
  const { name, tag, type, value } = shape(member.value[0])
  const isBytes = tag === undefined && normaliseName(name) === 'bytestring' && type === 'ByteString'
  return isBytes ? { name: member.name, tag: member.tag, type, value } : undefined
}

/**
 * The members of a structure if all have the same tag as the structure: in the standard no structure contains
 * itself.
 */
function listOfItself(member: JsonNode, shape: Shape): readonly JsonNode[] | undefined {
  if (!Array.isArray(member.value) || member.tag === undefined || member.value.length === 0) return undefined
  if (readTag(member.value[0]) !== member.tag) return undefined
  const members = member.value.map(shape)
  return members.every(({ tag }) => tag === member.tag) ? members : undefined
}

function readTag(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('tag' in value)) return undefined
  return typeof value.tag === 'string' ? tagByName(value.tag) : undefined
}

function renameMember(member: JsonNode, name: string): JsonNode {
  return { name, tag: tagByName(name), type: member.type, value: member.value }
}

function vendorAttributes(member: JsonNode, shape: Shape): readonly JsonNode[] {
  const inner = requireArray(member).map(shape)
  const isOne = inner.some(({ tag }) => tag === Tag.VendorIdentification)
  return (isOne ? [member] : inner).map((attribute) => renameMember(attribute, 'Attribute'))
}

function requireArray(member: JsonNode): readonly unknown[] {
  if (Array.isArray(member.value)) return member.value
  throw new KmipDecodeError('malformed_json', 'The value of a structure must be an array of nodes.')
}

function objectName(siblings: readonly JsonNode[]): string {
  const type = siblings.find(({ tag }) => tag === Tag.ObjectType)?.value
  const value = typeof type === 'string' ? (valueByName('ObjectType', type) ?? Number(type)) : type
  const name = typeof value === 'number' ? valueName('ObjectType', value) : undefined
  if (name === undefined) throw new KmipDecodeError('wrong_member', 'Object requires an ObjectType.')
  return name
}
