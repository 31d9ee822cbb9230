import { isLegacy, Tag } from '@warder/kmip-codec'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { listAttributes } from '../../attributes/attribute-view.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { noLongerFresh } from './get.ts'
import { objectInForm, readWanted, wantedRequest } from './object-in-form.ts'

/** Export (KMIP 2.1 §6.1.18): as Get, with every attribute, so that another server can import it. */
export const exportObject = defineOperation({
  name: 'Export',
  reach: ['reveal material', 'reveal attributes', 'make ciphertext', 'reveal plaintext'],
  asks: ['encrypt', 'decrypt', 'mac', 'sign', 'signatureverify', 'get'],
  access: objectRight('export'),
  request: wantedRequest,
  reply: definePayload({
    objectType: required(field.named('ObjectType')),
    uniqueIdentifier: required(namedObject),
    attributes: field.attributes(Tag.Attributes),
    object: required(field.object()),
  }),
  async handle(request, context) {
    const { objects, now, version } = context
    const { object, node } = await objectInForm(context, readWanted(request), 'export')
    const tags = await objects.tags(object)
    const attributes = listAttributes({ object, tags }, now, version)
    noLongerFresh(context, object)
    return {
      objectType: object.type,
      uniqueIdentifier: object.id,
      attributes: isLegacy(version) ? indexNodes(object, attributes) : attributes,
      object: node,
    }
  },
})
