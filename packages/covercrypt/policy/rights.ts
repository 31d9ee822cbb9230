import { covercryptError } from '../error.ts'
import {
  type Attribute,
  type AttributeName,
  combinations,
  type Dimension,
  findAttribute,
  findDimension,
  findSharedIds,
  formatQualifiedName,
  maxRights,
  type Right,
  type Structure,
  toRight,
} from '../structure/index.ts'
import type { Clause, Policy } from './parse.ts'

/** Rights that one ciphertext may be made for. */
export const maxTargets = 128

/** Combinations that are looked at for the policy of one user, those of several clauses counted for each. */
const maxCombinations = 16 * maxRights

type Named = ReadonlyMap<Dimension, Attribute>

/**
 * The rights that a ciphertext of this policy is made for: one of each clause.
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
 * The rights that a user of this policy holds: for each clause, every combination of nothing or, of a dimension that the
 * clause names, that attribute (in a hierarchy the lower ones too), of any other dimension all attributes. Of two attributes
 * of a dimension in one clause the last one counts, as in the deployed library.
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

/** Attributes of a dimension for a user who has `attribute`; all of them if the user's policy does not name the dimension. */
function listReachableAttributes(
  dimension: Dimension,
  attribute: Attribute | undefined,
): readonly Attribute[] {
  if (attribute === undefined) return dimension.attributes
  if (!dimension.ordered) return [attribute]
  return dimension.attributes.slice(0, dimension.attributes.indexOf(attribute) + 1)
}

/** @param twice what two attributes of one dimension in a clause mean; default: the policy is refused */
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
      `The policy asks for two attributes of ${dimension.name} at once.`,
    )
  if (shared.has(attribute.id))
    throw covercryptError(
      'invalid_policy',
      `Another attribute has the id of ${formatQualifiedName(dimension, attribute)}, so keys of one would open the other: delete one of them.`,
    )
  named.set(dimension, attribute)
}
