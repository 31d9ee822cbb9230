import { derMembers } from '../../der.ts'
import { pkiError } from '../../error.ts'
import { type ParsedCertificate, parseCertificate } from '../certificate.ts'
import { comparableName, nameText, readNameParts } from '../distinguished-name.ts'
import {
  extensionIdentifiers,
  extensionValue,
  type KeyUsageName,
  readAuthorityKeyIdentifier,
  readBasicConstraints,
  readExtendedKeyUsage,
  readKeyIdentifier,
  readKeyUsage,
} from '../extensions.ts'
import {
  type NameConstraints,
  type ReadGeneralName,
  readGeneralName,
  readNameConstraints,
} from '../general-name.ts'
import {
  type PolicyConstraints,
  type PolicyMapping,
  readCertificatePolicies,
  readInhibitAnyPolicy,
  readPolicyConstraints,
  readPolicyMappings,
} from '../policies.ts'
import { readCrlDistributionPoints } from '../revocation-access.ts'

/** A certificate with all parsed properties for path validation: later steps never meet malformed bytes. */
export interface PathNode {
  readonly certificate: ParsedCertificate
  /** Its subject, shortened for messages. */
  readonly who: string
  /** Relative names of the subject, normalized for comparison. */
  readonly subject: readonly string[]
  /** Subject and issuer, each as one string. */
  readonly subjectText: string
  readonly issuerText: string
  readonly isSelfIssued: boolean
  readonly keyIdentifier: Uint8Array | undefined
  readonly authorityKeyIdentifier: Uint8Array | undefined
  readonly authority: boolean
  readonly pathLength: number | undefined
  readonly uses: readonly KeyUsageName[] | undefined
  readonly purposes: readonly string[] | undefined
  readonly alternativeNames: readonly ReadGeneralName[]
  readonly commonNames: readonly string[]
  readonly emailAddresses: readonly string[]
  readonly nameConstraints: NameConstraints | undefined
  readonly policies: readonly string[] | undefined
  readonly policyMappings: readonly PolicyMapping[]
  readonly policyConstraints: PolicyConstraints
  readonly inhibitAnyPolicy: number | undefined
  /** DER of GeneralNames. */
  readonly distributionPoints: readonly Uint8Array[]
  /** It has an unknown critical extension (RFC 5280 §4.2). */
  readonly unknownCritical: boolean
  /** It has no revocation information (RFC 9608), or its revocation is not checked (RFC 6960 §4.2.2.2.1). */
  readonly noRevocation: boolean
}

const ids = extensionIdentifiers
const understood: ReadonlySet<string> = new Set([
  ids.subjectKeyIdentifier,
  ids.keyUsage,
  ids.subjectAltName,
  ids.issuerAltName,
  ids.basicConstraints,
  ids.nameConstraints,
  ids.crlDistributionPoints,
  ids.certificatePolicies,
  ids.policyMappings,
  ids.authorityKeyIdentifier,
  ids.policyConstraints,
  ids.createExtendedKeyUsage,
  ids.inhibitAnyPolicy,
  ids.noRevAvail,
  ids.authorityInformationAccess,
  ids.ocspNoCheck,
])
const maxPolicies = 64

/** @throws PkiError */
export function pathNode(der: Uint8Array): PathNode {
  const certificate = parseCertificate(der)
  const { extensions, subject, issuer } = certificate
  requireUnique(extensions.map(({ identifier }) => identifier))
  const relativeNames = comparableName(subject)
  const subjectText = JSON.stringify(relativeNames)
  const issuerText = JSON.stringify(comparableName(issuer))
  const parts = readNameParts(subject)
  const policies = readCertificatePolicies(extensions)
  const mappings = readPolicyMappings(extensions)
  requireUnique(policies ?? [])
  if (Math.max(policies?.length ?? 0, mappings.length) > maxPolicies)
    throw pkiError('malformed', `The certificate has more than ${maxPolicies} policies.`)
  const { authority, pathLength } = readBasicConstraints(extensions)
  const names = alternativeNames(certificate)
  const constraints = readNameConstraints(extensions)
  for (const { kind, value } of [
    ...names,
    ...(constraints?.permitted ?? []),
    ...(constraints?.excluded ?? []),
  ])
    if (kind === 'directory') comparableName(value)
  return {
    certificate,
    who: formatSubject(subject),
    subject: relativeNames,
    subjectText,
    issuerText,
    isSelfIssued: subjectText === issuerText,
    keyIdentifier: readKeyIdentifier(extensions),
    authorityKeyIdentifier: readAuthorityKeyIdentifier(extensions),
    authority,
    pathLength,
    uses: readKeyUsage(extensions),
    purposes: readExtendedKeyUsage(extensions),
    alternativeNames: names,
    commonNames: parts.filter(([part]) => part === 'CN').map(([, value]) => value),
    emailAddresses: parts.filter(([part]) => part === 'Email').map(([, value]) => value),
    nameConstraints: constraints,
    policies,
    policyMappings: mappings,
    policyConstraints: readPolicyConstraints(extensions),
    inhibitAnyPolicy: readInhibitAnyPolicy(extensions),
    distributionPoints: readCrlDistributionPoints(extensions),
    unknownCritical: extensions.some(({ critical, identifier }) => critical && !understood.has(identifier)),
    noRevocation: [ids.noRevAvail, ids.ocspNoCheck].some(
      (id) => extensionValue(extensions, id) !== undefined,
    ),
  }
}

/** RFC 5280 §4.2, §4.2.1.4 */
function requireUnique(identifiers: readonly string[]): void {
  if (new Set(identifiers).size < identifiers.length)
    throw pkiError('malformed', 'The certificate has an extension or a policy twice.')
}

function alternativeNames({ extensions }: ParsedCertificate): readonly ReadGeneralName[] {
  const value = extensionValue(extensions, ids.subjectAltName)
  if (value === undefined) return []
  return derMembers(value, 'subjectAltName').map(readGeneralName)
}

function formatSubject(subject: Uint8Array): string {
  return sanitizeText(nameText(subject))
}

/** Sanitizes a text from a certificate for a message: short, without characters that change the display. */
export function sanitizeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they would change how a log or a terminal shows the sentence
  const safe = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '?')
  if (safe === '') return 'an unnamed subject'
  return safe.length > 120 ? `${safe.slice(0, 120).toWellFormed()}…` : safe
}
