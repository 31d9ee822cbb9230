import type { ManagedObject } from '@warder/keys'
import { attributeMembers, readStoredAttributes } from '@warder/keys'
import { boolean, Enumeration, enumeration, Tag } from '@warder/kmip-codec'
import { objectRight } from '../../engine/access.ts'
import { uniqueIdentifier } from '../../engine/identifiers.ts'
import type { KmipContext, KmipOperation } from '../../engine/types.ts'
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
