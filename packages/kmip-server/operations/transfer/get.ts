import { attributeMembers, type ManagedObject, readStoredAttributes } from '@warder/keys'
import { boolean, Tag } from '@warder/kmip-codec'
import { objectRight } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
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
export function noLongerFresh({ objects }: KmipContext, object: ManagedObject): void {
  const stored = readStoredAttributes(object)
  if (stored.some(({ tag, value }) => tag === Tag.Fresh && value === false)) return
  const others = stored.filter(({ tag }) => tag !== Tag.Fresh)
  objects.update(object, attributeMembers([...others, boolean(Tag.Fresh, false)], object))
}
