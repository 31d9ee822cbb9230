import type { X509Certificate } from 'node:crypto'
import { parsedByOpenssl } from './certificate.ts'
import { extensionIdentifiers, extensionsOf, readBasicConstraints, readKeyUsage } from './extensions.ts'

/** Certificates that one chain may have. */
export const longestChain = 32

export type Validity = 'Valid' | 'Invalid' | 'Unknown'

interface Link {
  readonly x509: X509Certificate
  readonly der: Uint8Array
}

/**
 * Checks certificates that are one chain (RFC 5280 §6): each signed by the next, all of them within their dates
 * at `at`, authorities allowed to be ones (RFC 5280 §6.1.4), and the last one signed by itself.
 * @param at Unix milliseconds
 * @throws PkiError for bytes that are no certificate
 * @returns Unknown when everything holds, but the chain does not end in a root
 */
export function chainValidity(certificates: readonly Uint8Array[], at: number): Validity {
  const links = unique(certificates.map((der) => ({ der, x509: parsedByOpenssl(der) })))
  const chain = ordered(links)
  if (chain === undefined) return 'Invalid'
  for (const [depth, link] of chain.entries()) {
    if (!withinDates(link.x509, at) || !isUnderstood(link)) return 'Invalid'
    if (depth > 0 && !mayIssue(link, depth - 1)) return 'Invalid'
  }
  const root = chain.at(-1)
  if (root === undefined) return 'Unknown'
  if (!isSelfIssued(root)) return 'Unknown'
  return isSignedBy(root, root) ? 'Valid' : 'Invalid'
}

function unique(links: readonly Link[]): readonly Link[] {
  const seen = new Set<string>()
  return links.filter(({ x509 }) => {
    if (seen.has(x509.fingerprint256)) return false
    seen.add(x509.fingerprint256)
    return true
  })
}

/** From the end entity to the root; undefined when they are not one chain, or a signature is wrong. */
function ordered(links: readonly Link[]): readonly Link[] | undefined {
  const issues = (one: Link) => links.some((other) => other !== one && isIssuedBy(other, one))
  const leaves = links.filter((link) => !issues(link))
  const [leaf, another] = leaves
  if (leaf === undefined || another !== undefined) return undefined
  const chain = [leaf]
  while (chain.length < links.length) {
    const last = chain.at(-1) as Link
    const next = links.find((link) => !chain.includes(link) && isIssuedBy(last, link))
    if (next === undefined) return undefined
    chain.push(next)
  }
  return chain
}

function isIssuedBy(one: Link, issuer: Link): boolean {
  return one.x509.checkIssued(issuer.x509) && isSignedBy(one, issuer)
}

function isSignedBy(one: Link, issuer: Link): boolean {
  try {
    return one.x509.verify(issuer.x509.publicKey)
  } catch {
    return false
  }
}

function isSelfIssued({ x509 }: Link): boolean {
  return x509.issuer === x509.subject
}

/** Extensions that are looked at here, or that say nothing about the chain. */
const understood: ReadonlySet<string> = new Set([
  extensionIdentifiers.subjectKeyIdentifier,
  extensionIdentifiers.keyUsage,
  extensionIdentifiers.subjectAltName,
  extensionIdentifiers.basicConstraints,
  extensionIdentifiers.crlDistributionPoints,
  extensionIdentifiers.certificatePolicies,
  extensionIdentifiers.authorityKeyIdentifier,
  extensionIdentifiers.extendedKeyUsage,
  extensionIdentifiers.noRevAvail,
])

/** RFC 5280 §4.2: a critical extension that is not understood makes a certificate unusable. */
function isUnderstood({ der }: Link): boolean {
  return extensionsOf(der).every(({ critical, identifier }) => !critical || understood.has(identifier))
}

function withinDates(x509: X509Certificate, at: number): boolean {
  return x509.validFromDate.getTime() <= at && at <= x509.validToDate.getTime()
}

/** @param below authorities between this one and the end entity */
function mayIssue({ der }: Link, below: number): boolean {
  const extensions = extensionsOf(der)
  const { authority, pathLength } = readBasicConstraints(extensions)
  const uses = readKeyUsage(extensions)
  return (
    authority &&
    (uses === undefined || uses.includes('keyCertSign')) &&
    (pathLength === undefined || below <= pathLength)
  )
}
