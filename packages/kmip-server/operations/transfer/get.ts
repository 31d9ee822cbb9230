import { attributeMembers, type ManagedObject, readStoredAttributes } from '@warder/keys'
import { boolean, isLegacy, Tag } from '@warder/kmip-codec'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { listAttributes } from '../../attributes/attribute-view.ts'
import { defineOperation, namedObject, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { requireTemplates } from '../../locate/templates.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { objectInForm, readWanted, wantedRequest } from './object-in-form.ts'

/** Get (KMIP 2.1 §6.1.19): the object itself, in the requested format, wrapped on request. */
export const get = defineOperation({
  name: 'Get',
  reach: ['reveal material', 'reveal attributes', 'make ciphertext', 'reveal plaintext'],
  asks: ['encrypt', 'decrypt', 'mac', 'sign', 'signatureverify', 'get'],
  access: objectRight('get'),
  request: wantedRequest,
  reply: definePayload({
    objectType: required(field.named('ObjectType')),
    uniqueIdentifier: required(namedObject),
    object: required(field.object()),
  }),
  async handle(request, context) {
    if (context.object.type === 'Template') requireTemplates(context.version, 'InvalidObjectType')
    const { object, node } = await objectInForm(context, readWanted(request), 'get')
    noLongerFresh(context, object)
    return { objectType: object.type, uniqueIdentifier: object.id, object: node }
  },
})

/** Fresh is true until the object is returned for the first time (KMIP 2.1 §4.24). */
function noLongerFresh({ objects }: KmipContext, object: ManagedObject): void {
  const stored = readStoredAttributes(object)
  if (stored.some(({ tag, value }) => tag === Tag.Fresh && value === false)) return
  const others = stored.filter(({ tag }) => tag !== Tag.Fresh)
  objects.update(object, attributeMembers([...others, boolean(Tag.Fresh, false)], object))
}

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
