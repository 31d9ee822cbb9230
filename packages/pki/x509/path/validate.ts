import { PkiError } from '../../error.ts'
import { anyPurpose, inconsistentPurpose, type KeyUsageName } from '../extensions.ts'
import { isSignedWith } from '../signing.ts'
import { type Budget, createBudget } from './budget.ts'
import { nameProblem } from './constraints.ts'
import { type PathNode, pathNode } from './node.ts'
import { type PolicyWish, pathPolicies } from './policies.ts'
import { checkRevocation, type RevocationSources, type RevocationStatus } from './revocation.ts'

/** Maximum number of certificates in a chain. */
export const maxChainLength = 32

export type Validity = 'Valid' | 'Invalid' | 'Unknown'

/** Maximum number of additional certificates. */
export const maxCertificates = 256
/** Maximum number of signature verifications, including those of CRLs and responses. */
export const maxSignatures = 128
/** Maximum number of steps over all candidate paths. */
const maxSteps = 1024

export interface PathQuestion {
  /** DER of the certificate to validate. */
  readonly certificate: Uint8Array
  /** DER of the trusted certificates, from another source than the certificate. */
  readonly anchors: readonly Uint8Array[]
  /** DER of other certificates, in any order. Malformed ones are ignored. */
  readonly others?: readonly Uint8Array[]
  /** Unix milliseconds. */
  readonly at: number
  /**
   * Required extended key usage, dotted: every certificate that lists purposes must list it, and the key must have a
   * matching usage.
   */
  readonly purpose?: string
  /** Required key usages, unless the key is unrestricted. */
  readonly uses?: readonly KeyUsageName[]
  readonly policy?: PolicyWish
  readonly revocation?: RevocationSources & {
    /** Whether missing revocation information makes the path Unknown; else the certificate counts as good. */
    readonly required: boolean
  }
  /** Default and maximum: `maxSignatures`. */
  readonly signatures?: number
}

export interface PathResult {
  /** Unknown: no path to an anchor was found, or revocation information is missing. */
  readonly validity: Validity
  /** The first reason why it is not Valid. */
  readonly reason: string | undefined
  /** DER from the validated certificate to the anchor; empty without a path. */
  readonly path: readonly Uint8Array[]
  /** Status of each certificate of `path` except the anchor. */
  readonly revocation: readonly RevocationStatus[]
  /** Policies under which the path is valid; anyPolicy means all. */
  readonly policies: readonly string[]
}

/**
 * Builds paths to the anchors and validates them (RFC 5280 §6); the first Valid path is the result. The dates, path
 * lengths and name constraints of anchors are checked, too.
 * @throws PkiError for a malformed anchor
 */
export function validatePath(question: PathQuestion): PathResult {
  const anchors = question.anchors.slice(0, maxCertificates).map(pathNode)
  let end: PathNode
  try {
    end = pathNode(question.certificate)
  } catch (error) {
    if (error instanceof PkiError) return without('Invalid', error.message)
    throw error
  }
  const budget = createBudget(Math.min(question.signatures ?? maxSignatures, maxSignatures))
  const problem =
    certificateProblem(end, question.at) ?? usageProblem(end, question.uses ?? [], question.purpose)
  if (problem !== undefined) return without('Invalid', problem)
  return search(end, anchors, parseOthers(question, anchors), question, budget)
}

function parseOthers({ others = [] }: PathQuestion, anchors: readonly PathNode[]): readonly PathNode[] {
  const seen = new Set(anchors.map(({ certificate }) => bytesKey(certificate.der)))
  return others.slice(0, maxCertificates).flatMap((der) => {
    if (seen.has(bytesKey(der))) return []
    seen.add(bytesKey(der))
    try {
      return [pathNode(der)]
    } catch (error) {
      if (error instanceof PkiError) return []
      throw error
    }
  })
}

function search(
  end: PathNode,
  anchors: readonly PathNode[],
  others: readonly PathNode[],
  question: PathQuestion,
  budget: Budget,
): PathResult {
  let best: PathResult | undefined
  let firstProblem: string | undefined
  let steps = 0
  /** @returns true when the search is over */
  const extend = (path: readonly PathNode[]): boolean => {
    const last = path.at(-1) as PathNode
    steps += 1
    if (anchors.some(({ certificate }) => equal(certificate.der, last.certificate.der))) {
      const result = checkPath([...path].reverse(), question, budget)
      if (best === undefined || rank(result) > rank(best)) best = result
      return result.validity === 'Valid' || result.revocation[0]?.kind === 'revoked'
    }
    if (path.length === maxChainLength) return false
    for (const issuer of candidates(last, path, anchors, others)) {
      if (steps >= maxSteps) return true
      const problem =
        certificateProblem(issuer, question.at) ??
        issuerProblem(issuer, anchors.includes(issuer)) ??
        signatureProblem(last, issuer, budget)
      if (budget.isSpent) return true
      if (problem !== undefined) firstProblem ??= problem
      else if (extend([...path, issuer])) return true
    }
    return false
  }
  extend([end])
  if (best !== undefined) return best
  if (budget.isSpent || steps >= maxSteps)
    return without('Unknown', 'No path to a trusted certificate was found within the work limit.')
  return firstProblem === undefined
    ? without('Unknown', `No path leads from the certificate of ${end.who} to a trusted certificate.`)
    : without('Invalid', firstProblem)
}

function rank({ validity }: PathResult): number {
  return validity === 'Valid' ? 2 : validity === 'Unknown' ? 1 : 0
}

/** Lists possible issuers, anchors first. A certificate occurs only once on a path, also with another signature. */
function candidates(
  node: PathNode,
  path: readonly PathNode[],
  anchors: readonly PathNode[],
  others: readonly PathNode[],
): readonly PathNode[] {
  return [...anchors, ...others].filter(
    (issuer) =>
      issuer.subjectText === node.issuerText &&
      (node.authorityKeyIdentifier === undefined ||
        issuer.keyIdentifier === undefined ||
        equal(node.authorityKeyIdentifier, issuer.keyIdentifier)) &&
      !path.some(
        (each) =>
          each.subjectText === issuer.subjectText && equal(each.certificate.spki, issuer.certificate.spki),
      ),
  )
}

function signatureProblem(node: PathNode, issuer: PathNode, budget: Budget): string | undefined {
  const { certificate } = node
  const holds = budget.once(node, issuer, () => isSignedWith(certificate.signed, issuer.certificate.key))
  return holds === true ? undefined : `The signature of the certificate of ${node.who} is wrong.`
}

/** @param path from the anchor to the end; signatures, dates and issuers are already checked */
function checkPath(path: readonly PathNode[], question: PathQuestion, budget: Budget): PathResult {
  const found = {
    path: path.map(({ certificate }) => certificate.der).reverse(),
    revocation: [],
    policies: [],
  }
  const invalid = (reason: string): PathResult => ({ validity: 'Invalid', reason, ...found })
  const problem = lengthProblem(path) ?? purposeProblem(path, question.purpose) ?? nameProblem(path)
  if (problem !== undefined) return invalid(problem)
  const policies = pathPolicies(path, question.policy)
  if (policies.problem !== undefined) return invalid(policies.problem)
  const revocation = revocationAlong(path, question, budget)
  return { ...found, ...worst(path, revocation, question), policies: policies.policies, revocation }
}

function revocationAlong(
  path: readonly PathNode[],
  { revocation, at }: PathQuestion,
  budget: Budget,
): readonly RevocationStatus[] {
  if (revocation === undefined) return []
  const statuses: RevocationStatus[] = []
  for (let index = path.length - 1; index > 0; index -= 1) {
    const [issuer, node] = [path[index - 1] as PathNode, path[index] as PathNode]
    statuses.push(checkRevocation(node, issuer, revocation, at, budget))
  }
  return statuses
}

function worst(
  path: readonly PathNode[],
  statuses: readonly RevocationStatus[],
  { revocation }: PathQuestion,
): Pick<PathResult, 'validity' | 'reason'> {
  const who = (index: number) => (path.at(-1 - index) as PathNode).who
  const revoked = statuses.findIndex(({ kind }) => kind === 'revoked')
  if (revoked >= 0) return { validity: 'Invalid', reason: `The certificate of ${who(revoked)} is revoked.` }
  const open = statuses.findIndex(({ kind }) => kind === 'undetermined')
  if (open < 0 || revocation?.required !== true) return { validity: 'Valid', reason: undefined }
  const status = statuses[open] as RevocationStatus & { readonly kind: 'undetermined' }
  const reason = status.problem ?? `The revocation status of the certificate of ${who(open)} is unknown.`
  return { validity: 'Unknown', reason }
}

function without(validity: Validity, reason: string): PathResult {
  return { validity, reason, path: [], revocation: [], policies: [] }
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

function bytesKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** Finds a defect of a certificate that applies at every position of a path. */
function certificateProblem(node: PathNode, at: number): string | undefined {
  const { notBefore, notAfter } = node.certificate
  if (at < notBefore) return `The certificate of ${node.who} is not valid yet.`
  if (at > notAfter + 999) return `The certificate of ${node.who} has expired.`
  return node.unknownCritical
    ? `The certificate of ${node.who} has an unknown critical extension.`
    : undefined
}

/** Returns why a certificate may not issue others (RFC 5280 §6.1.4 k and n). */
function issuerProblem(node: PathNode, isAnchor: boolean): string | undefined {
  // A version 1 anchor cannot contain the extension; trusting it implies that it is a CA.
  const isOld = isAnchor && node.certificate.version === 1
  if (!node.authority && !isOld) return `The certificate of ${node.who} is not a CA certificate.`
  if (node.uses !== undefined && !node.uses.includes('keyCertSign'))
    return `The key of ${node.who} may not sign certificates.`
  return undefined
}

/** RFC 5280 §6.1.4 l and m. @param path from the anchor to the end */
function lengthProblem(path: readonly PathNode[]): string | undefined {
  let maxLength = Number.POSITIVE_INFINITY
  for (const [index, node] of path.slice(0, -1).entries()) {
    if (index > 0 && !node.isSelfIssued) {
      if (maxLength <= 0)
        return `The certificate of ${node.who} exceeds the path length of an authority above it.`
      maxLength -= 1
    }
    maxLength = Math.min(maxLength, node.pathLength ?? maxLength)
  }
  return undefined
}

/** Every certificate that lists purposes must list this one. @param path from the anchor to the end */
function purposeProblem(path: readonly PathNode[], purpose: string | undefined): string | undefined {
  if (purpose === undefined) return undefined
  const wrong = path.find(
    ({ purposes }) => purposes !== undefined && !purposes.includes(purpose) && !purposes.includes(anyPurpose),
  )
  return wrong === undefined ? undefined : `The certificate of ${wrong.who} is not for this purpose.`
}

/** Checks the required usages, and one that matches the purpose (RFC 5280 §4.2.1.3, §4.2.1.12). */
function usageProblem(
  { uses, who }: PathNode,
  wanted: readonly KeyUsageName[],
  purpose: string | undefined,
): string | undefined {
  if (uses === undefined) return undefined
  const isFit =
    wanted.every((use) => uses.includes(use)) &&
    inconsistentPurpose(purpose === undefined ? [] : [purpose], uses) === undefined
  return isFit ? undefined : `The key of ${who} does not permit this use.`
}
