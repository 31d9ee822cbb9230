import {
  type Expected,
  maxAssertionAgeSeconds,
  rejectResponse,
  type SamlCheck,
  SamlRefused,
  skewSeconds,
} from './checks.ts'
import {
  childElements,
  children,
  isNamed,
  onlyChild,
  readAttribute,
  readText,
  readTime,
  type XmlElement,
} from './xml.ts'
import { XmlRefused } from './xml-gate.ts'

/** Known conditions; an unknown one would make the validity of the assertion indeterminate (core §2.5.1). */
const understood = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** SAML 2.0 core §2.5. @throws SamlRefused */
function checkConditions(assertion: XmlElement, { spEntityId, now }: Expected): void {
  const conditions = onlyChild(assertion, 'assertion', 'Conditions')
  if (conditions === undefined) throw new SamlRefused('audience', 'assertion has no AudienceRestriction')
  const problem =
    notBefore('conditions', readAttribute(conditions, 'NotBefore'), now) ??
    notAfter('conditions', readAttribute(conditions, 'NotOnOrAfter'), now)
  if (problem !== undefined) throw problem
  const strange = childElements(conditions).find(
    (one) => !understood.some((name) => isNamed(one, 'assertion', name)),
  )
  if (strange !== undefined) throw rejectResponse('conditions', 'the assertion has an unknown condition')
  const restrictions = children(conditions, 'assertion', 'AudienceRestriction')
  if (restrictions.length === 0) throw new SamlRefused('audience', 'assertion has no AudienceRestriction')
  const isForUs = restrictions.every((restriction) =>
    children(restriction, 'assertion', 'Audience').some((audience) => readText(audience) === spEntityId),
  )
  if (!isForUs) throw new SamlRefused('audience', 'assertion is not addressed to this service provider')
}

/** Returns the refusal when a time has passed or is invalid; undefined if there is no time. */
function notAfter(check: SamlCheck, text: string | undefined, now: number): SamlRefused | undefined {
  if (text === undefined) return undefined
  const end = readTime(text)
  if (end === undefined) return rejectResponse(check, 'NotOnOrAfter is not a time')
  return now >= end + skewSeconds ? rejectResponse(check, 'the assertion has expired') : undefined
}

/** Returns the refusal when a time has not come yet or is invalid. */
function notBefore(check: SamlCheck, text: string | undefined, now: number): SamlRefused | undefined {
  if (text === undefined) return undefined
  const start = readTime(text)
  if (start === undefined) return rejectResponse(check, 'NotBefore is not a time')
  return now < start - skewSeconds ? rejectResponse(check, 'the assertion is not yet valid') : undefined
}

/** Subject of an assertion. Absent members are null, as in the database. */
export interface NameId {
  readonly value: string
  readonly format: string | null
  readonly nameQualifier: string | null
  readonly spNameQualifier: string | null
}

/** Contents of an assertion that passed every check. Times are Unix seconds. */
export interface Assertion {
  readonly id: string
  readonly issuedAt: number
  readonly nameId: NameId | undefined
  /** Of the session at the identity provider. */
  readonly sessionIndex: string | undefined
  /** SessionNotOnOrAfter: the end of that session. */
  readonly sessionEndsAt: number | undefined
  /** By `Name`, in the order of the assertion. Values with the same name are merged, empty values are omitted. */
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** @param assertion as signed. @throws SamlRefused */
export function checkAssertion(assertion: XmlElement, expected: Expected): Assertion {
  try {
    return readAssertion(assertion, expected)
  } catch (error) {
    if (error instanceof XmlRefused) throw rejectResponse('assertion', error.message)
    throw error
  }
}

function readAssertion(assertion: XmlElement, expected: Expected): Assertion {
  const id = readAttribute(assertion, 'ID') ?? ''
  const issuedAt = readTime(readAttribute(assertion, 'IssueInstant') ?? '')
  if (readAttribute(assertion, 'Version') !== '2.0' || id === '' || issuedAt === undefined)
    throw rejectResponse('assertion', 'the assertion lacks ID, IssueInstant or Version 2.0')
  const issuer = onlyChild(assertion, 'assertion', 'Issuer')
  if (issuer === undefined || readText(issuer) !== expected.idpEntityId)
    throw rejectResponse('issuer', 'the Issuer of the assertion is not the IdP of the realm')
  const subject = onlyChild(assertion, 'assertion', 'Subject')
  if (subject === undefined) throw rejectResponse('subject_confirmation', 'the assertion has no Subject')
  checkConfirmations(subject, expected)
  checkConditions(assertion, expected)
  const { sessionIndex, sessionEndsAt } = readSession(assertion, expected)
  if (expected.now - issuedAt > maxAssertionAgeSeconds)
    throw new SamlRefused('age', 'assertion was issued too long ago')
  if (issuedAt - expected.now > skewSeconds) throw rejectResponse('age', 'the assertion is not yet valid')
  return {
    id,
    issuedAt,
    nameId: readNameId(onlyChild(subject, 'assertion', 'NameID')),
    sessionIndex,
    sessionEndsAt,
    attributes: readAttributes(assertion),
  }
}

/** SAML 2.0 profiles §4.1.4.3: one valid bearer confirmation is required and sufficient. */
function checkConfirmations(subject: XmlElement, expected: Expected): void {
  let refusal = rejectResponse('subject_confirmation', 'the assertion has no bearer SubjectConfirmation')
  for (const confirmation of children(subject, 'assertion', 'SubjectConfirmation')) {
    if (readAttribute(confirmation, 'Method') !== bearer) continue
    const problem = findProblem(onlyChild(confirmation, 'assertion', 'SubjectConfirmationData'), expected)
    if (problem === undefined) return
    refusal = problem
  }
  throw refusal
}

function findProblem(
  data: XmlElement | undefined,
  { acsUrl, requestId, now }: Expected,
): SamlRefused | undefined {
  if (data === undefined) return rejectResponse('subject_confirmation', 'SubjectConfirmationData is missing')
  if (readAttribute(data, 'Recipient') !== acsUrl)
    return rejectResponse('subject_confirmation', 'the Recipient of the assertion is not this service')
  if (readAttribute(data, 'InResponseTo') !== requestId)
    return rejectResponse(
      'in_response_to',
      'the InResponseTo of the assertion is not the request of this browser',
    )
  const end = readAttribute(data, 'NotOnOrAfter')
  if (end === undefined)
    return rejectResponse('subject_confirmation', 'SubjectConfirmationData has no NotOnOrAfter')
  return (
    notAfter('subject_confirmation', end, now) ??
    notBefore('subject_confirmation', readAttribute(data, 'NotBefore'), now)
  )
}

function readSession(
  assertion: XmlElement,
  { now }: Expected,
): Pick<Assertion, 'sessionIndex' | 'sessionEndsAt'> {
  const statements = children(assertion, 'assertion', 'AuthnStatement')
  const [first] = statements
  if (first === undefined) throw new SamlRefused('authn_statement', 'assertion has no AuthnStatement')
  const ends = statements
    .flatMap((statement) => readAttribute(statement, 'SessionNotOnOrAfter') ?? [])
    .map(readTime)
  if (ends.includes(undefined)) throw rejectResponse('authn_statement', 'SessionNotOnOrAfter is not a time')
  const sessionEndsAt = ends.length === 0 ? undefined : Math.min(...ends.filter((end) => end !== undefined))
  if (sessionEndsAt !== undefined && sessionEndsAt <= now)
    throw rejectResponse('authn_statement', 'the session at the IdP has expired')
  return { sessionIndex: readAttribute(first, 'SessionIndex'), sessionEndsAt }
}

/** undefined when it is absent, empty, or contains elements. */
function readNameId(element: XmlElement | undefined): NameId | undefined {
  const value = element === undefined ? undefined : readText(element)
  if (element === undefined || value === undefined || value === '') return undefined
  return {
    value,
    format: readAttribute(element, 'Format') ?? null,
    nameQualifier: readAttribute(element, 'NameQualifier') ?? null,
    spNameQualifier: readAttribute(element, 'SPNameQualifier') ?? null,
  }
}

function readAttributes(assertion: XmlElement): Assertion['attributes'] {
  const found = new Map<string, string[]>()
  for (const statement of children(assertion, 'assertion', 'AttributeStatement')) {
    for (const attribute of childElements(statement)) {
      if (!isNamed(attribute, 'assertion', 'Attribute')) continue
      const name = readAttribute(attribute, 'Name') ?? ''
      const values = children(attribute, 'assertion', 'AttributeValue').map((value) => readText(value) ?? '')
      const list = found.get(name) ?? []
      list.push(...values.filter((value) => value.trim() !== ''))
      found.set(name, list)
    }
  }
  return found
}
