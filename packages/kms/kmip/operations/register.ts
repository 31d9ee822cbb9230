import { Tag } from '@warder/kmip/tables'
import {
  creates,
  type KmipOperation,
  kmipFailure,
  membersWithin,
  requiredName,
  uniqueIdentifier,
} from '../engine/index.ts'
import { newBrought, objectNode, readBrought } from './registered-object.ts'
import { requireSoftwareStorage } from './storage-masks.ts'

/** Register (KMIP 2.1 §6.1.44): an object that the client has already is kept here, as it came. */
export const register: KmipOperation = {
  name: 'Register',
  access: creates,
  async act(payload, context) {
    const type = requiredName(payload, Tag.ObjectType, 'ObjectType')
    if (type === 'Template') throw kmipFailure('InvalidField', 'Templates are not kept here.')
    requireSoftwareStorage(payload.value)
    const attributes = membersWithin(payload, Tag.Attributes)
    const brought = await readBrought(type, objectNode(payload, type), attributes, context)
    try {
      const object = context.objects.create(newBrought(context, brought, attributes))
      context.placeholder = object.id
      return [uniqueIdentifier(object.id)]
    } finally {
      brought.material?.fill(0)
    }
  },
}
