import { isTagName, readVendorName, type VendorName } from '@warder/keys'
import {
  atLeast,
  draftVersion,
  encodeTtlv,
  enumeration,
  isLegacy,
  linkTag,
  memberNumber,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { instancesCalled } from '../../attributes/attribute-edit.ts'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { type AttributeName, isKnownAttribute, readReferredName } from '../../attributes/attribute-name.ts'
import { type AttributeState, listAttributes } from '../../attributes/attribute-view.ts'
import { defineOperation, namedObject, objectRequest, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { attributeState, withoutDigest } from './attribute-request.ts'

const maxReferences = 1000

/** KMIP 2.1 §6.1.20: the named attributes that the object has; all attributes if none is named. */
export const getAttributes = defineOperation({
  name: 'GetAttributes',
  reach: ['reveal attributes'],
  asks: ['get', 'export'],
  access: objectRight('getattributes'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    attributeReferences: repeated(field.reference(Tag.AttributeReference)),
  }),
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    attributes: field.attributes(Tag.Attributes),
  }),
  async handle({ attributeReferences: references }, context) {
    if (references.length > maxReferences)
      throw kmipFailure('ServerLimitExceeded', `At most ${maxReferences} attributes can be named.`)
    requireOnce(references, context)
    const names = references.flatMap((reference) => readReferredName(reference, context.version) ?? [])
    const needsTags = references.length === 0 || names.some(({ tag }) => tag === Tag.Attribute)
    const state = await attributeState(context, needsTags)
    const nodes =
      references.length === 0
        ? listAttributes(state, context.now, context.version)
        : selectNamed(state, names, context)
    const visible = await withoutDigest(context, state, nodes)
    return {
      uniqueIdentifier: state.object.id,
      attributes: isLegacy(context.version) ? indexNodes(state.object, visible) : visible,
    }
  },
})

/** KMIP 1.1 to 1.4 §4.12: naming an attribute twice is an error; 1.0 and 2.x do not mind. @throws InvalidMessage */
function requireOnce(references: readonly TtlvNode[], { version }: KmipContext): void {
  if (!isLegacy(version) || !atLeast(version, '1.1')) return
  const seen = new Set(references.map((reference) => Buffer.from(encodeTtlv(reference)).toString('latin1')))
  if (seen.size < references.length) throw kmipFailure('InvalidMessage', 'An attribute name appears twice.')
}

/** In the order of the request, each once. */
function selectNamed(
  state: AttributeState,
  names: readonly AttributeName[],
  { version, now }: KmipContext,
): readonly TtlvNode[] {
  const found = new Set<TtlvNode>()
  for (const name of names) {
    if (!isKnownAttribute(version, name.tag)) continue
    for (const node of asAsked(name, instancesCalled(state, name, now))) found.add(node)
  }
  return [...found]
}

/** Tags are returned under the vendor name of the request. */
function asAsked({ vendor }: AttributeName, nodes: readonly TtlvNode[]): readonly TtlvNode[] {
  if (vendor === undefined || !isTagName(vendor)) return nodes
  return nodes.map((node) => withVendor(node, vendor.vendor))
}

function withVendor(node: TtlvNode, vendor: string): TtlvNode {
  if (node.type !== 'Structure') return node
  const value = node.value.map(
    (member): TtlvNode =>
      member.tag === Tag.VendorIdentification && member.type === 'TextString'
        ? { ...member, value: vendor }
        : member,
  )
  return structure(node.tag, value)
}

/**
 * KMIP 2.1 §6.1.21: the names of all attributes of the object, each once. Names are enumeration values, from which the
 * message layer does not remove those that are newer than the client.
 */
export const getAttributeList = defineOperation({
  name: 'GetAttributeList',
  reach: ['reveal attributes'],
  asks: ['get', 'export'],
  access: objectRight('getattributes'),
  request: objectRequest,
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    attributeReferences: repeated(field.reference(Tag.AttributeReference)),
  }),
  async handle(_request, context) {
    const { now, version } = context
    const references = new Map<string, TtlvNode>()
    const state = await attributeState(context, true)
    for (const node of await withoutDigest(context, state, listAttributes(state, now, version))) {
      if (!isKnownAttribute(version, node.tag)) continue
      const vendor = node.tag === Tag.Attribute ? readVendorName(node) : undefined
      const tag = version === draftVersion ? tagOfKind(node) : node.tag
      if (vendor === undefined) {
        if (tag !== undefined) references.set(String(tag), enumeration(Tag.AttributeReference, tag))
      } else references.set(JSON.stringify(vendor), vendorReference(vendor))
    }
    return { uniqueIdentifier: context.object.id, attributeReferences: [...references.values()] }
  },
})

/** 3.0 has an attribute for each kind of link; undefined for kinds that it does not have. */
function tagOfKind(node: TtlvNode): number | undefined {
  if (node.tag !== Tag.Link || node.type !== 'Structure') return node.tag
  return linkTag(memberNumber(node, Tag.LinkType))
}

function vendorReference({ vendor, name }: VendorName): TtlvNode {
  return structure(Tag.AttributeReference, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, name),
  ])
}
