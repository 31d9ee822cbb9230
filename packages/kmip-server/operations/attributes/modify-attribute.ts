import { isLegacy, Tag } from '@warder/kmip-codec'
import { modifyAttribute as modified } from '../../attributes/attribute-edit.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, required, since } from '../../payloads/payload.ts'
import { attributeState, checkIndex, readAttribute, stageEdit } from './attribute-request.ts'

/**
 * KMIP 2.1 §6.1.34, KMIP 1.4 §4.15: replaces the value of an existing instance. 2.x selects it by its value, 1.x by its
 * index, 0 by default.
 */
export const modifyAttribute = defineOperation({
  name: 'ModifyAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('modifyattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    currentAttribute: since('2.0', field.attribute(Tag.CurrentAttribute)),
    newAttribute: required(field.attribute(Tag.NewAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  reply: definePayload({
    uniqueIdentifier: required(namedObject),
    newAttribute: required(field.attribute(Tag.NewAttribute)),
    attributeIndex: field.integer(Tag.AttributeIndex),
  }),
  async handle({ currentAttribute, newAttribute, attributeIndex }, context) {
    const node = readAttribute(newAttribute, context)
    const index = checkIndex(attributeIndex)
    const which = isLegacy(context.version)
      ? { index: index ?? 0 }
      : { current: currentAttribute && readAttribute(currentAttribute, context) }
    const before = await attributeState(context, node.tag === Tag.Attribute)
    const edited = modified(before, node, which, context.now)
    await stageEdit(context, before, edited)
    return { uniqueIdentifier: context.object.id, newAttribute: edited.node, attributeIndex: index }
  },
})
