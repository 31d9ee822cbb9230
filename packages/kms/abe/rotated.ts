import { type MasterKey, prune, rekey, withStructure } from '@warder/covercrypt/keys'
import { parsePolicy, userRights } from '@warder/covercrypt/policy'
import {
  addAttribute,
  deleteAttribute,
  disableAttribute,
  nextAttributeId,
  renameAttribute,
  type Structure,
} from '@warder/covercrypt/structure'
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
export function rotated(key: MasterKey, action: RotationAction, floor: number): RotatedKey {
  const next = nextAttributeId(key.structure, floor)
  switch (action.type) {
    case 'rekey':
      return { key: rekey(key, userRights(key.structure, parsePolicy(action.policy))), nextAttributeId: next }
    case 'prune':
      return { key: prune(key, userRights(key.structure, parsePolicy(action.policy))), nextAttributeId: next }
    case 'delete':
      return edited(key, action.attributes.reduce(deleteAttribute, key.structure), next)
    case 'disable':
      return edited(key, action.attributes.reduce(disableAttribute, key.structure), next)
    case 'rename':
      return edited(
        key,
        action.attributes.reduce(
          (structure, { to, ...name }) => renameAttribute(structure, name, to),
          key.structure,
        ),
        next,
      )
    case 'add':
      return edited(
        key,
        action.attributes.reduce(
          (structure, attribute, index) => addAttribute(structure, attribute, next + index),
          key.structure,
        ),
        next + action.attributes.length,
      )
  }
}

function edited(key: MasterKey, structure: Structure, next: number): RotatedKey {
  return { key: withStructure(key, structure), nextAttributeId: next }
}
