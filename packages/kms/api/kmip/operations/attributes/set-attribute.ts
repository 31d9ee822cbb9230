import { Tag } from '@warder/kmip/tables'
import { setAttribute as set } from '../../attributes/index.ts'
import { type KmipOperation, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { attributeState, newAttribute, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.51: sets the value of an attribute, whether or not it had one. */
export const setAttribute: KmipOperation = {
  name: 'SetAttribute',
  access: objectRight('setattribute'),
  async act(payload, context) {
    const node = newAttribute(payload, context)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    await stageEdit(context, before, set(before, node, context.now))
    return [uniqueIdentifier(context.object.id)]
  },
}
