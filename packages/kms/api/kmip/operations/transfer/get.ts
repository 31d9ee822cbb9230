import { Enumeration, Tag } from '@warder/kmip/tables'
import { boolean, enumeration } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../../../keys/index.ts'
import { attributeMembers, readStoredAttributes } from '../../attributes/index.ts'
import { type KmipContext, type KmipOperation, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { requireTemplates } from '../../locate/templates.ts'
import { objectInForm, readWanted } from './object-in-form.ts'

/** Get (KMIP 2.1 §6.1.19): the object itself, in the requested format, wrapped on request. */
export const get: KmipOperation = {
  name: 'Get',
  access: objectRight('get'),
  async act(payload, context) {
    if (context.object.type === 'Template') requireTemplates(context.version, 'InvalidObjectType')
    const { object, node } = await objectInForm(context, readWanted(payload), 'get')
    noLongerFresh(context, object)
    return [
      enumeration(Tag.ObjectType, Enumeration.ObjectType[object.type]),
      uniqueIdentifier(object.id),
      node,
    ]
  },
}

/** Fresh is true until the object is returned for the first time (KMIP 2.1 §4.24). */
export function noLongerFresh({ objects }: KmipContext, object: ManagedObject): void {
  const stored = readStoredAttributes(object)
  if (stored.some(({ tag, value }) => tag === Tag.Fresh && value === false)) return
  const others = stored.filter(({ tag }) => tag !== Tag.Fresh)
  objects.update(object, attributeMembers([...others, boolean(Tag.Fresh, false)], object))
}
