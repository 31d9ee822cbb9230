import { type Crl, crlIsSignedWith } from '../crl.ts'
import type { RevocationReason } from '../crl-entries.ts'
import { comparableName } from '../distinguished-name.ts'
import type { OcspResponse } from '../ocsp/response.ts'
import { ocspVerdict } from '../ocsp/verdict.ts'
import type { Budget } from './budget.ts'
import type { PathNode } from './node.ts'

/** Whether a certificate was revoked. */
export type RevocationStatus =
  | { readonly kind: 'good' }
  /** RFC 9608, RFC 6960 §4.2.2.2.1: there is no revocation information about this certificate. */
  | { readonly kind: 'never told' }
  | {
      readonly kind: 'revoked'
      readonly revokedAt: number
      readonly reason: RevocationReason | undefined
    }
  /** No given source covers the certificate; `problem` is why the first candidate is not usable. */
  | { readonly kind: 'undetermined'; readonly problem: string | undefined }

export interface RevocationSources {
  readonly crls: readonly Crl[]
  readonly responses: readonly OcspResponse[]
}

interface Evidence {
  readonly status: RevocationStatus
  readonly thisUpdate: number
}

/** Tolerated clock difference at the beginning of a CRL. */
const toleranceMs = 5 * 60_000
/** Maximum number of responses, and of CRLs of one issuer, to evaluate per certificate. */
const maxSources = 16

/** Determines the status of a certificate from CRLs and OCSP responses; the newest one counts. */
export function checkRevocation(
  node: PathNode,
  issuer: PathNode,
  { crls, responses }: RevocationSources,
  at: number,
  budget: Budget,
): RevocationStatus {
  // RFC 9608 §3: the extension has no meaning for an authority.
  if (node.noRevocation && !node.authority) return { kind: 'never told' }
  const evidence = [
    ...responses.slice(0, maxSources).map((response) => byResponse(response, node, issuer, at, budget)),
    ...crls
      .filter((crl) => isOfIssuer(crl, issuer))
      .slice(0, maxSources)
      .map((crl) => byCrl(crl, node, issuer, at, budget)),
  ]
  const told = evidence.filter((each) => typeof each === 'object')
  const newest = told.reduce<Evidence | undefined>((best, each) => {
    if (best === undefined || each.thisUpdate > best.thisUpdate) return each
    return each.thisUpdate === best.thisUpdate && each.status.kind === 'revoked' ? each : best
  }, undefined)
  if (newest !== undefined) return newest.status
  return { kind: 'undetermined', problem: evidence.find((each) => typeof each === 'string') }
}

function byResponse(
  response: OcspResponse,
  node: PathNode,
  issuer: PathNode,
  at: number,
  budget: Budget,
): Evidence | string | undefined {
  const { certificate } = node
  const isAbout = response.answers.some(
    ({ certId }) => Buffer.compare(certId.serial, certificate.serial) === 0,
  )
  if (!isAbout) return undefined
  const mayVerify = () => budget.spend()
  const verdict = ocspVerdict(response, { certificate, issuer: issuer.certificate, at, mayVerify })
  if (verdict.status === undefined) return verdict.problem
  const { status, thisUpdate } = verdict
  if (status.kind === 'unknown') return `The responder does not know the certificate of ${node.who}.`
  if (status.kind === 'good') return { status, thisUpdate }
  return { status: { kind: 'revoked', revokedAt: status.revokedAt, reason: status.reason }, thisUpdate }
}

function isOfIssuer(
  { issuer, authorityKeyIdentifier }: Crl,
  { subjectText, keyIdentifier }: PathNode,
): boolean {
  if (JSON.stringify(comparableName(issuer)) !== subjectText) return false
  if (authorityKeyIdentifier === undefined || keyIdentifier === undefined) return true
  return Buffer.compare(authorityKeyIdentifier, keyIdentifier) === 0
}

/** RFC 5280 §6.3.3, without delta CRLs and without CRLs of other issuers. */
function byCrl(
  crl: Crl,
  node: PathNode,
  issuer: PathNode,
  at: number,
  budget: Budget,
): Evidence | string | undefined {
  const coverage = readCoverage(crl, node)
  if (coverage === undefined) return undefined
  const of = `The CRL of ${issuer.who}`
  if (crl.unknownCritical) return `${of} has an unknown critical extension.`
  if (crl.thisUpdate > at + toleranceMs) return `${of} is from the future.`
  if (crl.nextUpdate === undefined || crl.nextUpdate < at) return `${of} is out of date.`
  if (issuer.uses !== undefined && !issuer.uses.includes('cRLSign'))
    return `${issuer.who} is not permitted to sign CRLs.`
  const holds = budget.once(crl, issuer, () => crlIsSignedWith(crl, issuer.certificate.key))
  if (holds === undefined) return `${of} was not checked: too many signatures.`
  if (!holds) return `The signature of the CRL of ${issuer.who} is wrong.`
  const entry = crl.find(node.certificate.serial)
  const { thisUpdate } = crl
  if (entry !== undefined && entry.reason !== 'removeFromCRL')
    return { status: { kind: 'revoked', revokedAt: entry.revokedAt, reason: entry.reason }, thisUpdate }
  return coverage === 'all' ? { status: { kind: 'good' }, thisUpdate } : undefined
}

/** Whether this CRL covers the certificate (RFC 5280 §6.3.3 b), for all or for some reasons. */
function readCoverage({ scope, baseNumber }: Crl, node: PathNode): 'all' | 'some' | undefined {
  if (baseNumber !== undefined) return undefined
  if (scope === undefined) return 'all'
  if (scope.indirect || scope.onlyAttributes) return undefined
  if ((scope.onlyUsers && node.authority) || (scope.onlyAuthorities && !node.authority)) return undefined
  const isNamed =
    scope.names === undefined ||
    scope.names.some((name) => node.distributionPoints.some((point) => Buffer.compare(name, point) === 0))
  if (!isNamed) return undefined
  return scope.someReasons ? 'some' : 'all'
}
