import { Tag } from '@warder/kmip/tables'
import { integer, structure } from '@warder/kmip/ttlv'
import { addAttribute as added } from '../../attributes/index.ts'
import { type KmipOperation, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { attributeState, newAttribute, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.2: one more attribute, or one more instance of it. */
export const addAttribute: KmipOperation = {
  name: 'AddAttribute',
  access: objectRight('addattribute'),
  async act(payload, context) {
    const node = newAttribute(payload, context)
    const before = await attributeState(context, node.tag === Tag.Attribute)
    const edited = added(before, node, context.now)
    await stageEdit(context, before, edited)
    // The answer contains the attribute for 1.x clients, which get it with its index.
    return [
      uniqueIdentifier(context.object.id),
      structure(Tag.NewAttribute, [edited.node]),
      edited.index === 0 ? undefined : integer(Tag.AttributeIndex, edited.index),
    ]
  },
}
