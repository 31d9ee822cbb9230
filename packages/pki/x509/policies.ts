import {
  contextTag,
  type DerElement,
  der,
  derElements,
  derIdentifier,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { type Extension, extensionIdentifiers, extensionValue } from './extensions.ts'

export const anyPolicy = '2.5.29.32.0'

/** Policies under which a certificate is issued, dotted (RFC 5280 §4.2.1.4). @throws PkiError */
export function certificatePolicies(identifiers: readonly string[], critical = false): Extension {
  const value = derSequence(...identifiers.map((identifier) => derSequence(derObjectIdentifier(identifier))))
  return { identifier: extensionIdentifiers.certificatePolicies, critical, value }
}

/** Undefined without the extension: no policy. Qualifiers are ignored. @throws PkiError */
export function readCertificatePolicies(extensions: readonly Extension[]): readonly string[] | undefined {
  const what = 'certificatePolicies'
  const value = extensionValue(extensions, extensionIdentifiers.certificatePolicies)
  if (value === undefined) return undefined
  return derMembers(value, what).map(({ whole }) => derIdentifier(derMembers(whole, what)[0], what))
}

/** A policy of the issuer and the equivalent one of the subject (RFC 5280 §4.2.1.5). */
export type PolicyMapping = readonly [issuer: string, subject: string]

/** @throws PkiError */
export function policyMappings(mappings: readonly PolicyMapping[]): Extension {
  const value = derSequence(...mappings.map((pair) => derSequence(...pair.map(derObjectIdentifier))))
  return { identifier: extensionIdentifiers.policyMappings, critical: true, value }
}

/** @throws PkiError */
export function readPolicyMappings(extensions: readonly Extension[]): readonly PolicyMapping[] {
  const what = 'policyMappings'
  const value = extensionValue(extensions, extensionIdentifiers.policyMappings)
  if (value === undefined) return []
  return derMembers(value, what).map(({ whole }) => {
    const [issuer, subject] = derMembers(whole, what)
    return [derIdentifier(issuer, what), derIdentifier(subject, what)]
  })
}

/** Certificates that may follow before a policy is required, or mappings end (RFC 5280 §4.2.1.11). */
export interface PolicyConstraints {
  readonly requireExplicit?: number | undefined
  readonly inhibitMapping?: number | undefined
}

export function policyConstraints({ requireExplicit, inhibitMapping }: PolicyConstraints): Extension {
  const member = (tag: number, number: number | undefined) =>
    number === undefined ? [] : [der(contextTag(tag, false), derNumber(number).subarray(2))]
  const value = derSequence(...member(0, requireExplicit), ...member(1, inhibitMapping))
  return { identifier: extensionIdentifiers.policyConstraints, critical: true, value }
}

/** @throws PkiError */
export function readPolicyConstraints(extensions: readonly Extension[]): PolicyConstraints {
  const what = 'policyConstraints'
  const value = extensionValue(extensions, extensionIdentifiers.policyConstraints)
  const members = value === undefined ? [] : derMembers(value, what)
  const readNumber = (wanted: number) => {
    const member = members.find(({ tag }) => tag === contextTag(wanted, false))
    return member === undefined ? undefined : derSmallNumber(asInteger(member), what)
  }
  return { requireExplicit: readNumber(0), inhibitMapping: readNumber(1) }
}

function asInteger(member: DerElement): DerElement {
  return { ...member, tag: derTag.integer }
}

/** @param certificates number of further certificates before anyPolicy is ignored (RFC 5280 §4.2.1.14) */
export function inhibitAnyPolicy(certificates: number): Extension {
  return { identifier: extensionIdentifiers.inhibitAnyPolicy, critical: true, value: derNumber(certificates) }
}

/** @throws PkiError */
export function readInhibitAnyPolicy(extensions: readonly Extension[]): number | undefined {
  const value = extensionValue(extensions, extensionIdentifiers.inhibitAnyPolicy)
  return value === undefined
    ? undefined
    : derSmallNumber(derElements(value, 'inhibitAnyPolicy')[0], 'inhibitAnyPolicy')
}
