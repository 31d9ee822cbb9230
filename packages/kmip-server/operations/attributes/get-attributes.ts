import { isTagName } from '@warder/keys'
import { atLeast, encodeTtlv, isLegacy, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { instancesCalled } from '../../attributes/attribute-edit.ts'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { type AttributeName, isKnownAttribute, readReferredName } from '../../attributes/attribute-name.ts'
import { type AttributeState, listAttributes } from '../../attributes/attribute-view.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
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
    const names = references.flatMap((reference) => readReferredName(reference) ?? [])
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
