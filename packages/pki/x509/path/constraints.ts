import { derElements } from '../../der.ts'
import { comparableName, nameText, readNameParts } from '../distinguished-name.ts'
import {
  addressText,
  type GeneralNameKind,
  type NameConstraints,
  type ReadGeneralName,
  readGeneralName,
} from '../general-name.ts'
import { type PathNode, pathNode, sanitizeText } from './node.ts'

/**
 * Whether a name is inside a subtree (RFC 5280 §4.2.1.10). Undefined: the name cannot be compared and violates every
 * constraint of its type.
 */
function isInside(kind: GeneralNameKind, name: Uint8Array, base: Uint8Array): boolean | undefined {
  switch (kind) {
    case 'DNS':
      return hostInside(text(name), text(base))
    case 'email':
      return mailboxInside(text(name), text(base))
    case 'URI':
      return uriInside(text(name), text(base))
    case 'IP':
      return addressInside(name, base)
    case 'directory':
      return directoryInside(comparable(name), comparable(base))
    case 'other':
      return undefined
  }
}

/** Normalizes a name once for many comparisons. */
const compared = new WeakMap<Uint8Array, readonly string[]>()

function comparable(name: Uint8Array): readonly string[] {
  const before = compared.get(name)
  if (before !== undefined) return before
  const made = comparableName(name)
  compared.set(name, made)
  return made
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

/** The first label may be a wildcard. Existing names contain underscores. */
const host =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

function normalizeHost(given: string): string | undefined {
  const lower = given.toLowerCase()
  return lower.length <= 253 && host.test(lower) ? lower : undefined
}

/**
 * Matches the name itself and all subdomains. A base with a leading dot, as many authorities write it, excludes the
 * name itself.
 */
function hostInside(name: string, base: string): boolean | undefined {
  const given = normalizeHost(name)
  if (given === undefined) return undefined
  if (base === '') return true
  const wanted = base.toLowerCase()
  return wanted.startsWith('.') ? given.endsWith(wanted) : given === wanted || given.endsWith(`.${wanted}`)
}

/**
 * Whether a wildcard certificate could be used for a name inside an excluded subtree: `*.example.com` covers
 * `secret.example.com`, although it is not inside that subtree.
 */
function wildcardReaches(name: Uint8Array, base: Uint8Array): boolean {
  const [given, wanted] = [text(name).toLowerCase(), text(base).toLowerCase().replace(/^\./, '')]
  if (!given.startsWith('*.')) return false
  const dot = wanted.indexOf('.')
  return dot > 0 && wanted.slice(dot) === given.slice(1)
}

function mailboxInside(name: string, base: string): boolean | undefined {
  const at = name.lastIndexOf('@')
  const [local, domain] = [name.slice(0, at), normalizeHost(name.slice(at + 1))]
  if (at < 1 || domain === undefined) return undefined
  const baseAt = base.lastIndexOf('@')
  // RFC 5280 §7.5: the local part is case-sensitive.
  if (baseAt >= 0) return local === base.slice(0, baseAt) && domain === base.slice(baseAt + 1).toLowerCase()
  return isInDomain(domain, base)
}

/** RFC 5280 §4.2.1.10 for URIs and mailboxes: the host itself, or all hosts in a domain with a leading dot. */
function isInDomain(given: string, base: string): boolean {
  const wanted = base.toLowerCase()
  if (wanted === '') return true
  return wanted.startsWith('.') ? given.endsWith(wanted) : given === wanted
}

// Browsers end the host at a backslash, so none is allowed before it.
const authority = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@\\]*@)?([^/?#:@[\]\\]+)(?::\d*)?(?:[/?#]|$)/i
const ipv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

/** RFC 5280 §4.2.1.10: names without a host, or with an address as the host, are refused under a constraint. */
function uriInside(name: string, base: string): boolean | undefined {
  const found = authority.exec(name)?.[1]
  const given = found === undefined || ipv4.test(found) ? undefined : normalizeHost(found)
  return given === undefined ? undefined : isInDomain(given, base)
}

function addressInside(name: Uint8Array, base: Uint8Array): boolean | undefined {
  if (name.length !== 4 && name.length !== 16) return undefined
  if (base.length !== 8 && base.length !== 32) return undefined
  if (base.length !== name.length * 2) return false
  return name.every((byte, index) => {
    const mask = base[name.length + index] ?? 0
    return (byte & mask) === ((base[index] ?? 0) & mask)
  })
}

function directoryInside(name: readonly string[], base: readonly string[]): boolean {
  return base.length <= name.length && base.every((relative, index) => relative === name[index])
}

const dotted = /^[a-z0-9_*-]+(?:\.[a-z0-9_-]+)+$/i

/** A name, or a subject value that acts as one. */
type ComparedName = Pick<ReadGeneralName, 'kind' | 'tag' | 'value'>

/** Lists the names of a certificate that constraints apply to. @param isEnd the last certificate of the path */
function listConstrainedNames(
  node: {
    readonly certificate: { readonly subject: Uint8Array }
    readonly subject: readonly string[]
    readonly alternativeNames: readonly ReadGeneralName[]
    readonly emailAddresses: readonly string[]
    readonly commonNames: readonly string[]
  },
  isEnd: boolean,
): readonly ComparedName[] {
  const { alternativeNames } = node
  const has = (wanted: GeneralNameKind) => alternativeNames.some(({ kind }) => kind === wanted)
  const also = (kind: GeneralNameKind, values: readonly string[]) =>
    values.map((value) => ({ kind, tag: 0, value: Buffer.from(value, 'utf8') }))
  return [
    ...alternativeNames,
    ...(node.subject.length === 0
      ? []
      : [{ kind: 'directory' as const, tag: 0, value: node.certificate.subject }]),
    ...(has('email') ? [] : also('email', node.emailAddresses)),
    // Old clients use a common name as a host name.
    ...(isEnd && !has('DNS')
      ? also(
          'DNS',
          node.commonNames.filter((name) => dotted.test(name)),
        )
      : []),
  ]
}

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
