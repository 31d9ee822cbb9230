import { Tag } from '@warder/kmip-codec'
import { setAttribute as set } from '../../attributes/attribute-edit.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject, objectReply } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { attributeState, readAttribute, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.51: sets the value of an attribute, whether or not it had one. */
export const setAttribute = defineOperation({
  name: 'SetAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('setattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    newAttribute: required(field.attribute(Tag.NewAttribute)),
  }),
  reply: objectReply,
  async handle({ newAttribute }, context) {
    const node = readAttribute(newAttribute, context)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    await stageEdit(context, before, set(before, node, context.now))
    return { uniqueIdentifier: context.object.id }
  },
})
