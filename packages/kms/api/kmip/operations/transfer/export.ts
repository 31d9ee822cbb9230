import { Enumeration, isLegacy, Tag } from '@warder/kmip/tables'
import { enumeration, structure } from '@warder/kmip/ttlv'
import { indexNodes, listAttributes } from '../../attributes/index.ts'
import { type KmipOperation, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { noLongerFresh } from './get.ts'
import { objectInForm, readWanted } from './object-in-form.ts'

/** Export (KMIP 2.1 §6.1.18): as Get, with every attribute, so that another server can import it. */
export const exportObject: KmipOperation = {
  name: 'Export',
  access: objectRight('export'),
  async act(payload, context) {
    const { objects, now, version } = context
    const { object, node } = await objectInForm(context, readWanted(payload), 'export')
    const tags = await objects.tags(object)
    const attributes = listAttributes({ object, tags }, now, version)
    noLongerFresh(context, object)
    return [
      enumeration(Tag.ObjectType, Enumeration.ObjectType[object.type]),
      uniqueIdentifier(object.id),
      structure(Tag.Attributes, isLegacy(version) ? indexNodes(object, attributes) : attributes),
      node,
    ]
  },
}
