/**
 * Converts payloads between KMIP 3.0 (committee draft) and 2.x. Differences:
 *
 * | 3.0 | 2.x, used inside |
 * |---|---|
 * | UniqueIdentifier and the like of type Identifier | TextString |
 * | Name: a text | Name {NameValue, NameType} |
 * | NextLink, PublicKeyLink … of type Reference | Link {LinkType, LinkedObjectIdentifier} |
 * | GroupLink of type Name Reference | ObjectGroup: a text |
 * | AttributeReference GroupLink | AttributeReference ObjectGroup |
 *
 * An identifier or a link may also be an Enumeration or an Integer, which refers to an earlier result of the batch.
 * References to one kind of link (AttributeReference NextLink) are not converted: `readReferredName` reads them.
 */

import { isDraftType } from '../tables/draft.ts'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { linkTag } from '../tables/links.ts'
import { Tag } from '../tables/tags.gen.ts'
import { tagText } from '../tables/tags.ts'
import { memberNumber, memberText } from '../ttlv/members.ts'
import { enumeration, type StructureNode, structure, type TtlvNode, textString } from '../ttlv/node.ts'
import { ItemRefusal } from './types.ts'

/** Members that name an object. */
const identifierTags: ReadonlySet<number> = new Set([
  Tag.UniqueIdentifier,
  Tag.PrivateKeyUniqueIdentifier,
  Tag.PublicKeyUniqueIdentifier,
  Tag.CertificateRequestUniqueIdentifier,
  Tag.ReplacedUniqueIdentifier,
])

/** Tags that 3.0 reserves: words of earlier versions. */
const reservedTags: ReadonlySet<number> = new Set([
  Tag.AttributeIndex,
  Tag.BatchCount,
  Tag.BatchOrderOption,
  Tag.CommonTemplateAttribute,
  Tag.Link,
  Tag.LinkType,
  Tag.LinkedObjectIdentifier,
  Tag.NameType,
  Tag.NameValue,
  Tag.ObjectGroup,
  Tag.ObjectGroupMember,
  Tag.PrivateKeyTemplateAttribute,
  Tag.PublicKeyTemplateAttribute,
  Tag.Template,
  Tag.TemplateAttribute,
  Tag.UniqueBatchItemID,
])

/** Links of 3.0 for which 2.x has no kind. */
const unsupportedLinks: ReadonlySet<number> = new Set([
  Tag.CertificateRequestLink,
  Tag.CredentialLink,
  Tag.JoinedSplitKeyPartsLink,
  Tag.PasswordLink,
  Tag.SplitKeyBaseLink,
])

/** Refuses the members of a header or of a batch item that 3.0 reserves. @throws ItemRefusal InvalidField */
export function refuseReserved(members: readonly TtlvNode[]): void {
  for (const { tag } of members) if (reservedTags.has(tag)) throw toReservedTagRefusal(tag)
}

function toReservedTagRefusal(tag: number): ItemRefusal {
  return new ItemRefusal('InvalidField', `${tagText(tag)} does not exist in KMIP 3.0.`)
}

function wrongType(tag: number, types: string): ItemRefusal {
  return new ItemRefusal('InvalidField', `${tagText(tag, true)} must be of type ${types} in KMIP 3.0.`)
}

/**
 * Converts a structure of 3.0 to the form of 2.x. @throws ItemRefusal InvalidField for words of earlier versions and
 * items of a wrong type, InvalidAttribute for links that are not supported
 */
export function fromVersion3(node: StructureNode): StructureNode {
  const value = convertMembers(node.value, fromNode)
  return value === node.value ? node : structure(node.tag, value)
}

function fromNode(node: TtlvNode): TtlvNode {
  return (converters.get(node.tag) ?? fromOther)(node)
}

/** A member that 3.0 has in the form of 2.x, perhaps with other ones in it. */
function fromOther(node: TtlvNode): TtlvNode {
  if (node.type === 'Structure') return fromVersion3(node)
  if (isDraftType(node.type))
    throw new ItemRefusal('InvalidField', `${tagText(node.tag, true)} cannot be of type ${node.type}.`)
  return node
}

type Convert = (node: TtlvNode) => TtlvNode

/** Members that 3.0 has in another form, or not at all. */
const converters: ReadonlyMap<number, Convert> = new Map<number, Convert>([
  ...[...identifierTags].map((tag) => [tag, fromIdentifier] as const),
  ...[...reservedTags].map((tag) => [tag, refuseTag] as const),
  ...[...unsupportedLinks].map((tag) => [tag, refuseLink] as const),
  ...Object.values(Enumeration.LinkType).flatMap((type) => {
    const tag = linkTag(type)
    return tag === undefined ? [] : [[tag, (node: TtlvNode) => fromLink(node, type)] as const]
  }),
  [Tag.Name, fromName],
  [Tag.GroupLink, fromGroupLink],
  [Tag.AttributeReference, fromReference],
])

function refuseTag({ tag }: TtlvNode): never {
  throw toReservedTagRefusal(tag)
}

function refuseLink({ tag }: TtlvNode): never {
  throw new ItemRefusal('InvalidAttribute', `${tagText(tag, true)} is not supported.`)
}

function fromIdentifier(node: TtlvNode): TtlvNode {
  if (node.type === 'Identifier') return textString(node.tag, node.value)
  if (node.type === 'Enumeration' || node.type === 'Integer') return node
  throw wrongType(node.tag, 'Identifier, Enumeration or Integer')
}

function fromLink(node: TtlvNode, linkType: number): TtlvNode {
  const { tag, type } = node
  if (type === 'NameReference')
    throw new ItemRefusal('InvalidField', `${tagText(tag, true)} must name its object by a Reference here.`)
  if (type !== 'Reference' && type !== 'Enumeration' && type !== 'Integer')
    throw wrongType(tag, 'Reference, Enumeration or Integer')
  const linked =
    type === 'Reference'
      ? textString(Tag.LinkedObjectIdentifier, node.value)
      : { ...node, tag: Tag.LinkedObjectIdentifier }
  return structure(Tag.Link, [enumeration(Tag.LinkType, linkType), linked])
}

function fromName(node: TtlvNode): TtlvNode {
  if (node.type !== 'TextString') throw wrongType(node.tag, 'TextString')
  return structure(Tag.Name, [
    textString(Tag.NameValue, node.value),
    enumeration(Tag.NameType, Enumeration.NameType.UninterpretedTextString),
  ])
}

function fromGroupLink(node: TtlvNode): TtlvNode {
  if (node.type !== 'NameReference') throw wrongType(node.tag, 'NameReference')
  return textString(Tag.ObjectGroup, node.value)
}

function fromReference(node: TtlvNode): TtlvNode {
  if (node.type !== 'Enumeration') return fromOther(node)
  if (node.value === Tag.GroupLink) return enumeration(node.tag, Tag.ObjectGroup)
  if (reservedTags.has(node.value)) throw toReservedTagRefusal(node.value)
  return node
}

/** Converts a structure from the form of 2.x to 3.0. Links of a kind that 3.0 does not have are omitted. */
export function toVersion3(node: StructureNode): StructureNode {
  const value = convertMembers(node.value, toNode)
  return value === node.value ? node : structure(node.tag, value)
}

function toNode(node: TtlvNode): TtlvNode | undefined {
  const { tag } = node
  if (node.type === 'TextString') {
    if (identifierTags.has(tag)) return { tag, type: 'Identifier', value: node.value }
    if (tag === Tag.ObjectGroup) return { tag: Tag.GroupLink, type: 'NameReference', value: node.value }
    return node
  }
  if (tag === Tag.AttributeReference)
    return node.value === Tag.ObjectGroup ? enumeration(tag, Tag.GroupLink) : node
  if (node.type !== 'Structure') return node
  if (tag === Tag.Link) return toLink(node)
  if (tag === Tag.Name) return textString(tag, memberText(node, Tag.NameValue) ?? '')
  return toVersion3(node)
}

function toLink(node: StructureNode): TtlvNode | undefined {
  const tag = linkTag(memberNumber(node, Tag.LinkType))
  if (tag === undefined) return undefined
  const linked = memberText(node, Tag.LinkedObjectIdentifier)
  return linked === undefined ? undefined : { tag, type: 'Reference', value: linked }
}

/** The same list if nothing changes. */
function convertMembers(
  members: readonly TtlvNode[],
  convert: (member: TtlvNode) => TtlvNode | undefined,
): readonly TtlvNode[] {
  let changed: TtlvNode[] | undefined
  let index = 0
  for (const member of members) {
    const converted = convert(member)
    if (converted !== member) changed ??= members.slice(0, index)
    if (changed !== undefined && converted !== undefined) changed.push(converted)
    index++
  }
  return changed ?? members
}
