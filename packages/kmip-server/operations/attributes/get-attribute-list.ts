import { readVendorName, type VendorName } from '@warder/keys'
import { enumeration, structure, Tag, type TtlvNode, textString } from '@warder/kmip-codec'
import { isKnownAttribute } from '../../attributes/attribute-name.ts'
import { listAttributes } from '../../attributes/attribute-view.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject, objectRequest } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { attributeState, withoutDigest } from './attribute-request.ts'

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
      if (vendor === undefined)
        references.set(String(node.tag), enumeration(Tag.AttributeReference, node.tag))
      else references.set(JSON.stringify(vendor), vendorReference(vendor))
    }
    return { uniqueIdentifier: context.object.id, attributeReferences: [...references.values()] }
  },
})

function vendorReference({ vendor, name }: VendorName): TtlvNode {
  return structure(Tag.AttributeReference, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, name),
  ])
}
