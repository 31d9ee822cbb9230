import { derElements } from '../../asn1/der.ts'
import { comparableName, nameText, readNameParts } from '../distinguished-name.ts'
import { addressText, readGeneralName } from '../general-name.ts'
import type { NameConstraints } from '../name-constraints.ts'
import { type ComparedName, isInside, listConstrainedNames, wildcardReaches } from './names.ts'
import { type PathNode, pathNode, sanitizeText } from './node.ts'

type NamedNode = Pick<
  PathNode,
  | 'who'
  | 'subject'
  | 'alternativeNames'
  | 'emailAddresses'
  | 'commonNames'
  | 'isSelfIssued'
  | 'nameConstraints'
> & { readonly certificate: { readonly subject: Uint8Array } }

/** Maximum number of name comparisons per path. */
const maxComparisons = 100_000

/**
 * Checks the names of every certificate against the constraints of all superior authorities (RFC 5280 §6.1.3 b and c,
 * §6.1.4 g).
 * @param path from the anchor to the end
 * @param sentence formats the first violation
 */
export function nameProblem(
  path: readonly NamedNode[],
  sentence = ({ who }: NamedNode, _name: ComparedName): string =>
    `A name of the certificate of ${who} violates the name constraints of an authority above it.`,
): string | undefined {
  const above: NameConstraints[] = []
  let left = maxComparisons
  for (const [index, node] of path.entries()) {
    const isEnd = index === path.length - 1
    // RFC 5280 §6.1.3: a self-issued certificate is not checked, unless it is the last one.
    if (above.length > 0 && (isEnd || !node.isSelfIssued))
      for (const name of listConstrainedNames(node, isEnd)) {
        left -= above.reduce((sum, { permitted, excluded }) => sum + permitted.length + excluded.length, 0)
        if (left < 0) return 'The path has too many name constraints to check.'
        if (!above.every((constraints) => isAllowed(name, constraints))) return sentence(node, name)
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

/**
 * Finds a violated constraint if the last of these authorities issued a certificate with these names.
 * @param authorities DER, the anchor first
 * @param subject DER of the name
 * @param names DER of the alternative names
 * @returns the description of the first violation
 * @throws PkiError
 */
export function findNameProblem(
  authorities: readonly Uint8Array[],
  subject: Uint8Array,
  names: readonly Uint8Array[],
): string | undefined {
  const parts = readNameParts(subject)
  const listValues = (wanted: string) => parts.filter(([part]) => part === wanted).map(([, value]) => value)
  const end: NamedNode = {
    who: 'the subject',
    certificate: { subject },
    subject: comparableName(subject),
    alternativeNames: names.flatMap((name) => derElements(name, 'An alternative name').map(readGeneralName)),
    commonNames: listValues('CN'),
    emailAddresses: listValues('Email'),
    isSelfIssued: false,
    nameConstraints: undefined,
  }
  return nameProblem(
    [...authorities.map(authorityNode), end],
    (_node, name) =>
      `The name ${formatName(name)} violates the name constraints of the authority, or of one above it.`,
  )
}

function formatName({ kind, value }: ComparedName): string {
  switch (kind) {
    case 'IP':
      return `IP:${addressText(value) ?? Buffer.from(value).toString('hex')}`
    case 'directory':
      return sanitizeText(nameText(value))
    case 'other':
      return 'of another kind'
    default:
      return `${kind}:${sanitizeText(Buffer.from(value).toString('utf8'))}`
  }
}

/** Cache of parsed authorities, for as long as their bytes, which are immutable, are referenced. */
const authorityNodes = new WeakMap<Uint8Array, PathNode>()

function authorityNode(der: Uint8Array): PathNode {
  const before = authorityNodes.get(der)
  if (before !== undefined) return before
  const node = pathNode(der)
  authorityNodes.set(der, node)
  return node
}
