import { Tag } from '@warder/kmip/tables'
import { findMember, requireName } from '@warder/kmip/ttlv'
import { adjustAttribute as adjusted, readReferredName } from '../../attributes/index.ts'
import { type KmipOperation, kmipFailure, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { attributeState, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.3: increments, decrements or negates a value that the client need not know. */
export const adjustAttribute: KmipOperation = {
  name: 'AdjustAttribute',
  access: objectRight('modifyattribute'),
  async act(payload, context) {
    const reference = findMember(payload, Tag.AttributeReference)
    if (reference === undefined) throw kmipFailure('MissingData', 'AttributeReference is missing.')
    const adjustment = requireName(payload, Tag.AdjustmentType, 'AdjustmentType')
    const name = readReferredName(reference)
    if (name === undefined) throw kmipFailure('UnsupportedAttribute', 'There is no attribute of this name.')
    const before = await attributeState(context, name.tag === Tag.Attribute)
    const by = findMember(payload, Tag.AdjustmentValue)
    await stageEdit(context, before, adjusted(before, name, adjustment, by, context.now))
    return [uniqueIdentifier(context.object.id)]
  },
}
