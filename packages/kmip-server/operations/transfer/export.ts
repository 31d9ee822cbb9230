import { Enumeration, enumeration, isLegacy, structure, Tag } from '@warder/kmip-codec'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { listAttributes } from '../../attributes/attribute-view.ts'
import { objectRight } from '../../engine/access.ts'
import { uniqueIdentifier } from '../../engine/identifiers.ts'
import type { KmipOperation } from '../../engine/types.ts'
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
