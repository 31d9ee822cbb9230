import { covercryptError } from '../error.ts'
import { findAttribute, findDimension } from '../structure/edit.ts'
import type { AttributeName } from '../structure/names.ts'
import { combinations, findSharedIds, maxRights, type Right, toRight } from '../structure/right.ts'
import {
  type Attribute,
  type Dimension,
  formatQualifiedName,
  type Structure,
} from '../structure/structure.ts'
import type { Clause, Policy } from './parse.ts'

/** Maximum number of rights of a ciphertext. */
export const maxTargets = 128

/** Maximum number of combinations for the policy of a user, summed over its clauses. */
const maxCombinations = 16 * maxRights

type Named = ReadonlyMap<Dimension, Attribute>

/**
 * Returns the rights that a ciphertext of this policy is encrypted for: one of each clause.
 *
 * @throws CovercryptError unknown_attribute, invalid_policy (two attributes of a dimension in one clause), too_large
 */
export function encryptionRights(structure: Structure, policy: Policy): ReadonlySet<Right> {
  const named = createNameReader(structure)
  const rights = new Set<Right>()
  for (const clause of policy) {
    rights.add(toRight([...named(clause).values()].map(({ id }) => id)))
    if (rights.size > maxTargets)
      throw covercryptError('too_large', `A ciphertext is made for at most ${maxTargets} rights.`)
  }
  return rights
}

/**
 * Returns the rights of a user with this policy. For each clause they are all combinations of one option per
 * dimension: no attribute, or the attribute that the clause names (in a hierarchy also the lower ones), or any
 * attribute of a dimension that it does not name. Of two attributes of a dimension in one clause the last one counts,
 * as in the deployed library.
 *
 * @throws CovercryptError unknown_attribute, invalid_policy, too_large
 */
export function userRights(structure: Structure, policy: Policy): ReadonlySet<Right> {
  const named = createNameReader(structure, 'the last counts')
  const rights = new Set<Right>()
  const done = new Set<string>()
  let combined = 0
  for (const clause of policy) {
    const attributes = named(clause)
    const same = toRight([...attributes.values()].map(({ id }) => id))
    if (done.has(same)) continue
    done.add(same)
    const choices = structure.dimensions.map((dimension) =>
      listReachableAttributes(dimension, attributes.get(dimension)),
    )
    const found = combinations(choices)
    combined += found.length
    if (combined > maxCombinations)
      throw covercryptError(
        'too_large',
        'The policy has too many combinations; write it with fewer alternatives.',
      )
    for (const chosen of found) rights.add(toRight(chosen.map(({ id }) => id)))
  }
  return rights
}

/**
 * Lists the attributes of a dimension for a user with `attribute`; all of them if the policy does not name the
 * dimension.
 */
function listReachableAttributes(
  dimension: Dimension,
  attribute: Attribute | undefined,
): readonly Attribute[] {
  if (attribute === undefined) return dimension.attributes
  if (!dimension.ordered) return [attribute]
  return dimension.attributes.slice(0, dimension.attributes.indexOf(attribute) + 1)
}

/** @param twice treatment of two attributes of one dimension in a clause; default: the policy is refused */
function createNameReader(
  structure: Structure,
  twice: 'refused' | 'the last counts' = 'refused',
): (clause: Clause) => Named {
  const shared = findSharedIds(structure)
  return (clause) => {
    const named = new Map<Dimension, Attribute>()
    for (const name of clause) addName(named, structure, shared, name, twice)
    return named
  }
}

function addName(
  named: Map<Dimension, Attribute>,
  structure: Structure,
  shared: ReadonlySet<number>,
  { dimension: dimensionName, name }: AttributeName,
  twice: 'refused' | 'the last counts',
): void {
  const dimension = findDimension(structure, dimensionName)
  const attribute = findAttribute(dimension, name)
  if (twice === 'refused' && named.has(dimension))
    throw covercryptError(
      'invalid_policy',
      `The policy requires two attributes of ${dimension.name} at once.`,
    )
  if (shared.has(attribute.id))
    throw covercryptError(
      'invalid_policy',
      `Another attribute has the id of ${formatQualifiedName(dimension, attribute)}, so keys of one would decrypt data of the other: delete one of them.`,
    )
  named.set(dimension, attribute)
}
