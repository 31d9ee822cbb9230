import type { KeyUsageName } from '../extensions.ts'
import { anyPurpose, inconsistentPurpose } from '../purposes.ts'
import type { PathNode } from './node.ts'

/** Finds a defect of a certificate that applies at every position of a path. */
export function certificateProblem(node: PathNode, at: number): string | undefined {
  const { notBefore, notAfter } = node.certificate
  if (at < notBefore) return `The certificate of ${node.who} is not valid yet.`
  if (at > notAfter + 999) return `The certificate of ${node.who} has expired.`
  return node.unknownCritical
    ? `The certificate of ${node.who} has a critical extension that is not understood.`
    : undefined
}

/** Returns why a certificate may not issue others (RFC 5280 §6.1.4 k and n). */
export function issuerProblem(node: PathNode, isAnchor: boolean): string | undefined {
  // A version 1 anchor cannot contain the extension; trusting it implies that it is a CA.
  const isOld = isAnchor && node.certificate.version === 1
  if (!node.authority && !isOld) return `The certificate of ${node.who} is not one of an authority.`
  if (node.uses !== undefined && !node.uses.includes('keyCertSign'))
    return `The key of ${node.who} may not sign certificates.`
  return undefined
}

/** RFC 5280 §6.1.4 l and m. @param path from the anchor to the end */
export function lengthProblem(path: readonly PathNode[]): string | undefined {
  let maxLength = Number.POSITIVE_INFINITY
  for (const [index, node] of path.slice(0, -1).entries()) {
    if (index > 0 && !node.isSelfIssued) {
      if (maxLength <= 0)
        return `The certificate of ${node.who} makes the path longer than an authority above it allows.`
      maxLength -= 1
    }
    maxLength = Math.min(maxLength, node.pathLength ?? maxLength)
  }
  return undefined
}

/** Every certificate that lists purposes must list this one. @param path from the anchor to the end */
export function purposeProblem(path: readonly PathNode[], purpose: string | undefined): string | undefined {
  if (purpose === undefined) return undefined
  const wrong = path.find(
    ({ purposes }) => purposes !== undefined && !purposes.includes(purpose) && !purposes.includes(anyPurpose),
  )
  return wrong === undefined ? undefined : `The certificate of ${wrong.who} is not for this purpose.`
}

/** Checks the required usages, and one that matches the purpose (RFC 5280 §4.2.1.3, §4.2.1.12). */
export function usageProblem(
  { uses, who }: PathNode,
  wanted: readonly KeyUsageName[],
  purpose: string | undefined,
): string | undefined {
  if (uses === undefined) return undefined
  const isFit =
    wanted.every((use) => uses.includes(use)) &&
    inconsistentPurpose(purpose === undefined ? [] : [purpose], uses) === undefined
  return isFit ? undefined : `The key of ${who} is not for this use.`
}
