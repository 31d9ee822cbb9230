import { checkConstraints, checkDefaults, readRules, replaceRules } from '@warder/keys'
import { structure, Tag } from '@warder/kmip-codec'
import { creates, defineOperation, signedIn } from '../../engine/operation.ts'
import { definePayload, field, noMembers, required } from '../../payloads/payload.ts'

/**
 * SetDefaults (KMIP 2.1 §6.1.53): attributes that new objects of a type get unless the client sets them. They apply
 * only to objects of the user who sets the defaults, not to those of other users.
 */
export const setDefaults = defineOperation({
  name: 'SetDefaults',
  reach: ['change settings'],
  access: creates,
  request: definePayload({ defaultsInformation: field.structure(Tag.DefaultsInformation) }),
  reply: noMembers,
  handle({ defaultsInformation }, { objects, principal }) {
    const defaults = checkDefaults(defaultsInformation ?? structure(Tag.DefaultsInformation, []))
    objects.also(replaceRules(principal.name, 'defaults', defaults))
    return {}
  },
})

/** SetConstraints (KMIP 2.1 §6.1.52): attributes that new objects of the user who sets the constraints must have. */
export const setConstraints = defineOperation({
  name: 'SetConstraints',
  reach: ['change settings'],
  access: creates,
  request: definePayload({ constraints: required(field.structure(Tag.Constraints)) }),
  reply: noMembers,
  handle({ constraints }, { objects, principal }) {
    objects.also(replaceRules(principal.name, 'constraints', checkConstraints(constraints)))
    return {}
  },
})

/** GetConstraints (KMIP 2.1 §6.1.22): the constraints on new objects of the caller. */
export const getConstraints = defineOperation({
  name: 'GetConstraints',
  reach: ['reveal attributes'],
  access: signedIn,
  request: noMembers,
  reply: definePayload({ constraints: required(field.structure(Tag.Constraints)) }),
  async handle(_request, { services, principal }) {
    const { constraints } = await readRules(services.db, principal.name)
    return { constraints: constraints ?? structure(Tag.Constraints, []) }
  },
})
