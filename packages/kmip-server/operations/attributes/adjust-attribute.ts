import { Tag } from '@warder/kmip-codec'
import { adjustAttribute as adjusted } from '../../attributes/attribute-adjust.ts'
import { readReferredName } from '../../attributes/attribute-name.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject, objectReply } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { attributeState, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.3: increments, decrements or negates a value that the client need not know. */
export const adjustAttribute = defineOperation({
  name: 'AdjustAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('modifyattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    attributeReference: required(field.reference(Tag.AttributeReference)),
    adjustmentType: required(field.named('AdjustmentType')),
    adjustmentValue: field.node(Tag.AdjustmentValue, 'that of the attribute'),
  }),
  reply: objectReply,
  async handle({ attributeReference, adjustmentType, adjustmentValue }, context) {
    const name = readReferredName(attributeReference)
    if (name === undefined) throw kmipFailure('UnsupportedAttribute', 'There is no attribute of this name.')
    const before = await attributeState(context, name.tag === Tag.Attribute)
    await stageEdit(context, before, adjusted(before, name, adjustmentType, adjustmentValue, context.now))
    return { uniqueIdentifier: context.object.id }
  },
})
