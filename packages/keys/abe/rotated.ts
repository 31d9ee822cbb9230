import {
  addAttribute,
  covercryptError,
  deleteAttribute,
  disableAttribute,
  type MasterKey,
  nextAttributeId,
  parsePolicy,
  prune,
  rekey,
  renameAttribute,
  type Structure,
  userRights,
  withStructure,
} from '@warder/covercrypt'
import type { RotationAction } from './actions.ts'

export interface RotatedKey {
  readonly key: MasterKey
  readonly nextAttributeId: number
}

/**
 * The master key after an action.
 *
 * @param floor ids below it were given to attributes, those that are deleted among them
 * @throws CovercryptError
 */
export function rotateMasterKey(key: MasterKey, action: RotationAction, floor: number): RotatedKey {
  const next = nextAttributeId(key.structure, floor)
  switch (action.type) {
    case 'rekey':
      return { key: rekey(key, userRights(key.structure, parsePolicy(action.policy))), nextAttributeId: next }
    case 'prune':
      return { key: prune(key, userRights(key.structure, parsePolicy(action.policy))), nextAttributeId: next }
    case 'delete':
      return replaceStructure(key, action.attributes.reduce(deleteAttribute, key.structure), next)
    case 'disable':
      return replaceStructure(key, action.attributes.reduce(disableAttribute, key.structure), next)
    case 'rename':
      return replaceStructure(
        key,
        action.attributes.reduce(
          (structure, { to, ...name }) => renameAttribute(structure, name, to),
          key.structure,
        ),
        next,
      )
    case 'add':
      return replaceStructure(
        key,
        action.attributes.reduce(
          (structure, attribute, index) => addAttribute(structure, attribute, next + index),
          key.structure,
        ),
        next + action.attributes.length,
      )
  }
}

/** Former names of attributes that one master key remembers. */
const maxFormerNames = 1000

/**
 * The former names of attributes, with the identifiers of these attributes. A name is never given to another attribute:
 * callers who encrypt for that name would otherwise encrypt for other user keys.
 *
 * @throws CovercryptError for a name that would be assigned to another attribute
 */
export function keepNames(
  before: Structure,
  after: Structure,
  former: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const known = new Map([...Object.entries(former), ...namesIn(before)])
  for (const [name, id] of namesIn(after)) {
    const owner = known.get(name)
    if (owner !== undefined && owner !== id)
      throw covercryptError(
        'invalid_structure',
        `The name ${name} belonged to another attribute: other keys could decrypt data that is encrypted for it. Choose a new name.`,
      )
    known.delete(name)
  }
  if (known.size > maxFormerNames)
    throw covercryptError('too_large', `A master key stores at most ${maxFormerNames} former names.`)
  return Object.fromEntries(known)
}

function namesIn({ dimensions }: Structure): readonly (readonly [string, number])[] {
  return dimensions.flatMap(({ name, attributes }) =>
    attributes.map((attribute) => [`${name}::${attribute.name}`, attribute.id] as const),
  )
}

function replaceStructure(key: MasterKey, structure: Structure, next: number): RotatedKey {
  return { key: withStructure(key, structure), nextAttributeId: next }
}
