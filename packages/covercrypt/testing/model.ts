import { parsePolicy } from '../policy.ts'
import type { Structure } from '../structure.ts'

/**
 * An independent model of access without rights: whether a user of one policy may read data encrypted for another.
 * For some clause of each, every dimension of the encryption clause is one that the user's clause does not name, or
 * names with the same attribute or, in a hierarchy, a higher one.
 */
export function mayRead(structure: Structure, user: string, encryption: string): boolean {
  const includes = (dimensionName: string, held: string, asked: string): boolean => {
    const dimension = structure.dimensions.find(({ name }) => name === dimensionName)
    if (held === asked) return true
    const at = (name: string): number => dimension?.attributes.findIndex((one) => one.name === name) ?? -1
    return dimension?.ordered === true && at(held) > at(asked)
  }
  return parsePolicy(encryption).some((target) =>
    parsePolicy(user).some((clause) =>
      target.every(({ dimension, name }) => {
        const own = clause.find((one) => one.dimension === dimension)
        return own === undefined || includes(dimension, own.name, name)
      }),
    ),
  )
}
