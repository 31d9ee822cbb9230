import { valueByName, valueName } from '../tables/enumerations.ts'
import { normaliseName } from '../tables/names.ts'
import { tagByName } from '../tables/tags.ts'
import { KmipDecodeError } from '../ttlv/error.ts'

/** A node as JSON spells it. */
export interface JsonNode {
  readonly tag: string
  readonly type: string | undefined
  readonly value: unknown
}

type Shape = (value: unknown) => JsonNode

/**
 * Undoes what some clients wrap around the standard's members, one level each:
 * - `VendorAttributes` around vendor attributes, themselves called `VendorAttributes` or `Attribute`: `Attribute`
 * - `CertificateAttributes` around the parts of a certificate's names: the parts
 * - a list around repeated members that bears their name (`Link` of `Link`): the members
 * - `Object` instead of the object's own tag: the tag that the `ObjectType` beside it names
 */
export function unwrapMembers(members: readonly JsonNode[], shape: Shape): readonly JsonNode[] {
  if (!members.some((member) => isWrapped(member, shape))) return members
  return members.flatMap((member) => unwrap(member, members, shape))
}

function isWrapped(member: JsonNode, shape: Shape): boolean {
  return tagByName(member.tag) === undefined || listOfItself(member, shape) !== undefined
}

function unwrap(member: JsonNode, siblings: readonly JsonNode[], shape: Shape): readonly JsonNode[] {
  const own = listOfItself(member, shape)
  switch (normaliseName(member.tag)) {
    case 'vendorattributes':
      return vendorAttributes(member, shape)
    case 'certificateattributes':
      return arrayOf(member).map(shape)
    case 'object':
      return [{ ...member, tag: objectTag(siblings) }]
    default:
      return own ?? [member]
  }
}

/** The members of a structure that all bear its own name; no structure of the standard holds itself. */
function listOfItself(member: JsonNode, shape: Shape): readonly JsonNode[] | undefined {
  if (!Array.isArray(member.value) || member.value.length === 0) return undefined
  const name = normaliseName(member.tag)
  const first: unknown = member.value[0]
  if (name === '' || !namesSame(first, name)) return undefined
  const members = member.value.map(shape)
  return members.every(({ tag }) => normaliseName(tag) === name) ? members : undefined
}

function namesSame(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'tag' in value &&
    typeof value.tag === 'string' &&
    normaliseName(value.tag) === name
  )
}

function vendorAttributes(member: JsonNode, shape: Shape): readonly JsonNode[] {
  const inner = arrayOf(member).map(shape)
  const isOne = inner.some(({ tag }) => normaliseName(tag) === 'vendoridentification')
  if (isOne) return [{ ...member, tag: 'Attribute' }]
  return inner.map((attribute) => ({ ...attribute, tag: 'Attribute' }))
}

function arrayOf(member: JsonNode): readonly unknown[] {
  if (Array.isArray(member.value)) return member.value
  throw new KmipDecodeError('malformed_json', 'The value of a structure is an array of nodes.')
}

function objectTag(siblings: readonly JsonNode[]): string {
  const type = siblings.find(({ tag }) => normaliseName(tag) === 'objecttype')?.value
  const value = typeof type === 'string' ? (valueByName('ObjectType', type) ?? Number(type)) : type
  const name = typeof value === 'number' ? valueName('ObjectType', value) : undefined
  if (name === undefined)
    throw new KmipDecodeError('wrong_member', 'Object stands without an ObjectType that says what it is.')
  return name
}
