import type { NameConstraints } from '../name-constraints.ts'
import { type ComparedName, constrainedNames, isInside, wildcardReaches } from './names.ts'
import type { PathNode } from './node.ts'

/** Comparisons of a name with a subtree in one path. */
const mostComparisons = 100_000

/**
 * Checks the names of every certificate against the constraints of all above it (RFC 5280 §6.1.3 b and c, §6.1.4 g).
 * @param path from the anchor to the end
 * @returns the sentence of the first violation
 */
export function nameProblem(path: readonly PathNode[]): string | undefined {
  const above: NameConstraints[] = []
  let left = mostComparisons
  for (const [index, node] of path.entries()) {
    const isEnd = index === path.length - 1
    // RFC 5280 §6.1.3: a certificate that an authority issues to itself is not looked at, unless it is the last.
    if (above.length > 0 && (isEnd || !node.isSelfIssued))
      for (const name of constrainedNames(node, isEnd)) {
        left -= above.reduce((sum, { permitted, excluded }) => sum + permitted.length + excluded.length, 0)
        if (left < 0) return 'The path has more name constraints than are checked here.'
        if (!above.every((constraints) => isAllowed(name, constraints)))
          return `A name of the certificate of ${node.who} is outside of what an authority above it may certify.`
      }
    if (node.nameConstraints !== undefined) above.push(node.nameConstraints)
  }
  return undefined
}

function isAllowed(name: ComparedName, { permitted, excluded }: NameConstraints): boolean {
  const ofKind = ({ kind, tag }: ComparedName) => kind === name.kind && (kind !== 'other' || tag === name.tag)
  const isExcluded = excluded.filter(ofKind).some(({ value }) => {
    if (name.kind === 'DNS' && wildcardReaches(name.value, value)) return true
    return isInside(name.kind, name.value, value) !== false
  })
  if (isExcluded) return false
  const subtrees = permitted.filter(ofKind)
  return (
    subtrees.length === 0 || subtrees.some(({ value }) => isInside(name.kind, name.value, value) === true)
  )
}
