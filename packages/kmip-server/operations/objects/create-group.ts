import { Failure } from '@warder/base'
import { findGroup, groupBounds, groupCounts, planGroup, readGroupName, readLists } from '@warder/keys'
import { memberText, requireType, Tag, type TtlvNode } from '@warder/kmip-codec'
import { creates, defineOperation, objectReply } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field } from '../../payloads/payload.ts'

/**
 * CreateGroup (KMIP 3.0 draft §6.1.10): a new group of rights without members, which the caller owns, as over REST
 * (docs/adr/kmip-3.md). Its members and grants are changed over REST alone.
 */
export const createGroup = defineOperation({
  name: 'CreateGroup',
  reach: ['change settings'],
  access: creates,
  request: definePayload({ attributes: field.attributes(Tag.Attributes) }),
  reply: objectReply,
  async handle({ attributes }, context) {
    const { services, principal, now } = context
    const { db, roles } = services
    const id = readId(attributes)
    context.audit({ object: id })
    if ((await groupCounts.createdBy(db, principal.name)) >= groupBounds.created)
      throw kmipFailure(
        'PermissionDenied',
        `The caller created the maximum number of groups (${groupBounds.created}).`,
      )
    if ((await findGroup(db, id)) !== undefined)
      throw kmipFailure('NonUniqueNameAttribute', 'A group with this name exists already.')
    const planning = { db, officers: roles.officers, now, by: principal.name }
    const { changes } = await planGroup(planning, id, undefined, readLists([], [principal.name]))
    context.objects.also(...changes)
    context.placeholder = id
    return { uniqueIdentifier: id }
  },
})

/** @throws kmipFailure InvalidAttribute, InvalidAttributeValue */
function readId(attributes: readonly TtlvNode[]): string {
  const [name, ...others] = attributes
  if (name?.tag !== Tag.Name || others.length > 0)
    throw kmipFailure('InvalidAttribute', 'A group has one Name and no other attribute.')
  try {
    return readGroupName(memberText(requireType(name, 'Structure'), Tag.NameValue) ?? '')
  } catch (error) {
    if (error instanceof Failure) throw kmipFailure('InvalidAttributeValue', error.message)
    throw error
  }
}
