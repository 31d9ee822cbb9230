import { Tag } from '@warder/kmip-codec'
import { addAttribute as added } from '../../attributes/attribute-edit.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { attributeState, readAttribute, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.2: one more attribute, or one more instance of it. */
export const addAttribute = defineOperation({
  name: 'AddAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('addattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    newAttribute: required(field.attribute(Tag.NewAttribute)),
  }),
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    newAttribute: required(field.attribute(Tag.NewAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  async handle({ newAttribute }, context) {
    const node = readAttribute(newAttribute, context)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    const edited = added(before, node, context.now)
    await stageEdit(context, before, edited)
    // The answer contains the attribute for 1.x clients, which get it with its index.
    return {
      uniqueIdentifier: context.object.id,
      newAttribute: edited.node,
      attributeIndex: edited.index === 0 ? undefined : edited.index,
    }
  },
})
