import { defineOperation, objectReply, objectRequest, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'

/**
 * Archive (KMIP 2.1 §6.1.4): archives the object. Its attributes can still be read; its material can be neither
 * returned nor used until Recover.
 */
export const archive = defineOperation({
  name: 'Archive',
  reach: ['change state'],
  access: objectRight('modifyattribute'),
  request: objectRequest,
  reply: objectReply,
  handle(_request, context) {
    requireMaterial(context)
    const { object, objects, now } = context
    if (object.archivedAt !== undefined)
      throw kmipFailure('ObjectArchived', 'The object is archived already.')
    objects.update(object, { archivedAt: now })
    return { uniqueIdentifier: object.id }
  },
})

/** Recover (KMIP 2.1 §6.1.42): restores an archived object at once. Other objects stay as they are. */
export const recover = defineOperation({
  name: 'Recover',
  reach: ['change state'],
  access: objectRight('modifyattribute'),
  request: objectRequest,
  reply: objectReply,
  handle(_request, context) {
    requireMaterial(context)
    const { object, objects } = context
    if (object.archivedAt !== undefined) objects.update(object, { archivedAt: undefined })
    return { uniqueIdentifier: object.id }
  },
})

function requireMaterial({ object }: KmipContext): void {
  if (object.destroyedAt !== undefined) throw kmipFailure('ObjectDestroyed', 'DENIED')
}
