import { Tag } from '@warder/kmip/tables'
import { optionalStructure, requireStructure, structure } from '@warder/kmip/ttlv'
import { checkConstraints, checkDefaults } from '../../../../keys/creation/creation-rules.ts'
import { readRules, replaceRules } from '../../../../keys/creation/creation-rules-store.ts'
import { creates, type KmipOperation, signedIn } from '../../engine/index.ts'

/**
 * SetDefaults (KMIP 2.1 §6.1.53): attributes that new objects of a type get unless the client sets them. They apply
 * only to objects of the user who sets the defaults, not to those of other users.
 */
export const setDefaults: KmipOperation = {
  name: 'SetDefaults',
  access: creates,
  act(payload, { objects, principal }) {
    const given = optionalStructure(payload, Tag.DefaultsInformation)
    const defaults = checkDefaults(given ?? structure(Tag.DefaultsInformation, []))
    objects.also(replaceRules(principal.name, 'defaults', defaults))
    return []
  },
}

/** SetConstraints (KMIP 2.1 §6.1.52): attributes that new objects of the user who sets the constraints must have. */
export const setConstraints: KmipOperation = {
  name: 'SetConstraints',
  access: creates,
  act(payload, { objects, principal }) {
    const constraints = checkConstraints(requireStructure(payload, Tag.Constraints))
    objects.also(replaceRules(principal.name, 'constraints', constraints))
    return []
  },
}

/** GetConstraints (KMIP 2.1 §6.1.22): the constraints on new objects of the caller. */
export const getConstraints: KmipOperation = {
  name: 'GetConstraints',
  access: signedIn,
  async act(_payload, { services, principal }) {
    const { constraints } = await readRules(services.db, principal.name)
    return [constraints ?? structure(Tag.Constraints, [])]
  },
}
