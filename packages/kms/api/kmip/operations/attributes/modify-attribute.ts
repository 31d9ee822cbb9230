import { isLegacy, Tag } from '@warder/kmip/tables'
import { integer, structure } from '@warder/kmip/ttlv'
import { modifyAttribute as modified } from '../../attributes/index.ts'
import { type KmipOperation, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import {
  attributeIndex,
  attributeState,
  currentAttribute,
  newAttribute,
  stageEdit,
} from './attribute-request.ts'

/**
 * KMIP 2.1 §6.1.34, KMIP 1.4 §4.15: replaces the value of an existing instance. 2.x selects it by its value, 1.x by its
 * index, 0 by default.
 */
export const modifyAttribute: KmipOperation = {
  name: 'ModifyAttribute',
  access: objectRight('modifyattribute'),
  async act(payload, context) {
    const node = newAttribute(payload, context)
    const index = attributeIndex(payload)
    const which = isLegacy(context.version)
      ? { index: index ?? 0 }
      : { current: currentAttribute(payload, context) }
    const before = await attributeState(context, node.tag === Tag.Attribute)
    const edited = modified(before, node, which, context.now)
    await stageEdit(context, before, edited)
    return [
      uniqueIdentifier(context.object.id),
      structure(Tag.NewAttribute, [edited.node]),
      index === undefined ? undefined : integer(Tag.AttributeIndex, index),
    ]
  },
}
