import type { XmlElement } from '../xml/dom.ts'
import { attributeOf, childElements, children, isNamed, onlyChild, textOf } from '../xml/read.ts'
import { XmlRefused } from '../xml/refused.ts'
import { readTime } from '../xml/time.ts'
import { checkConditions, notAfter, notBefore } from './conditions.ts'
import { type Expected, longestAssertionAge, skewSeconds } from './expected.ts'
import { rejected, SamlRefused } from './refused.ts'

/** Subject of an assertion. Absent members are null, so that it is the same in a database. */
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
  /** By `Name`, in the order of the assertion; several of one name together, without empty values. */
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** @param assertion as it was signed. @throws SamlRefused */
export function checkAssertion(assertion: XmlElement, expected: Expected): Assertion {
  try {
    return checked(assertion, expected)
  } catch (error) {
    if (error instanceof XmlRefused) throw rejected('assertion', error.message)
    throw error
  }
}

function checked(assertion: XmlElement, expected: Expected): Assertion {
  const id = attributeOf(assertion, 'ID') ?? ''
  const issuedAt = readTime(attributeOf(assertion, 'IssueInstant') ?? '')
  if (attributeOf(assertion, 'Version') !== '2.0' || id === '' || issuedAt === undefined)
    throw rejected('assertion', 'the assertion lacks ID, IssueInstant or Version 2.0')
  const issuer = onlyChild(assertion, 'assertion', 'Issuer')
  if (issuer === undefined || textOf(issuer) !== expected.idpEntityId)
    throw rejected('issuer', 'the Issuer of the assertion is not the IdP of the realm')
  const subject = onlyChild(assertion, 'assertion', 'Subject')
  if (subject === undefined) throw rejected('subject_confirmation', 'the assertion has no Subject')
  checkConfirmations(subject, expected)
  checkConditions(assertion, expected)
  const { sessionIndex, sessionEndsAt } = sessionOf(assertion, expected)
  if (expected.now - issuedAt > longestAssertionAge)
    throw new SamlRefused('age', 'assertion was issued too long ago')
  if (issuedAt - expected.now > skewSeconds) throw rejected('age', 'the assertion is not valid until later')
  return {
    id,
    issuedAt,
    nameId: nameIdOf(onlyChild(subject, 'assertion', 'NameID')),
    sessionIndex,
    sessionEndsAt,
    attributes: attributesOf(assertion),
  }
}

/** SAML 2.0 profiles §4.1.4.3: one bearer confirmation that fits is needed, and is enough. */
function checkConfirmations(subject: XmlElement, expected: Expected): void {
  let refusal = rejected('subject_confirmation', 'the assertion has no bearer SubjectConfirmation')
  for (const confirmation of children(subject, 'assertion', 'SubjectConfirmation')) {
    if (attributeOf(confirmation, 'Method') !== bearer) continue
    const problem = problemOf(onlyChild(confirmation, 'assertion', 'SubjectConfirmationData'), expected)
    if (problem === undefined) return
    refusal = problem
  }
  throw refusal
}

function problemOf(
  data: XmlElement | undefined,
  { acsUrl, requestId, now }: Expected,
): SamlRefused | undefined {
  if (data === undefined) return rejected('subject_confirmation', 'SubjectConfirmationData is missing')
  if (attributeOf(data, 'Recipient') !== acsUrl)
    return rejected('subject_confirmation', 'the Recipient of the assertion is not this service')
  if (attributeOf(data, 'InResponseTo') !== requestId)
    return rejected('in_response_to', 'the InResponseTo of the assertion is not the request of this browser')
  const end = attributeOf(data, 'NotOnOrAfter')
  if (end === undefined)
    return rejected('subject_confirmation', 'SubjectConfirmationData has no NotOnOrAfter')
  return (
    notAfter('subject_confirmation', end, now) ??
    notBefore('subject_confirmation', attributeOf(data, 'NotBefore'), now)
  )
}

function sessionOf(
  assertion: XmlElement,
  { now }: Expected,
): Pick<Assertion, 'sessionIndex' | 'sessionEndsAt'> {
  const statements = children(assertion, 'assertion', 'AuthnStatement')
  const [first] = statements
  if (first === undefined) throw new SamlRefused('authn_statement', 'assertion has no AuthnStatement')
  const ends = statements
    .flatMap((statement) => attributeOf(statement, 'SessionNotOnOrAfter') ?? [])
    .map(readTime)
  if (ends.includes(undefined)) throw rejected('authn_statement', 'SessionNotOnOrAfter is not a time')
  const sessionEndsAt = ends.length === 0 ? undefined : Math.min(...ends.filter((end) => end !== undefined))
  if (sessionEndsAt !== undefined && sessionEndsAt <= now)
    throw rejected('authn_statement', 'the session at the IdP has expired')
  return { sessionIndex: attributeOf(first, 'SessionIndex'), sessionEndsAt }
}

/** undefined for one that is absent, empty, or has anything but text. */
function nameIdOf(element: XmlElement | undefined): NameId | undefined {
  const value = element === undefined ? undefined : textOf(element)
  if (element === undefined || value === undefined || value === '') return undefined
  return {
    value,
    format: attributeOf(element, 'Format') ?? null,
    nameQualifier: attributeOf(element, 'NameQualifier') ?? null,
    spNameQualifier: attributeOf(element, 'SPNameQualifier') ?? null,
  }
}

function attributesOf(assertion: XmlElement): Assertion['attributes'] {
  const found = new Map<string, string[]>()
  for (const statement of children(assertion, 'assertion', 'AttributeStatement')) {
    for (const attribute of childElements(statement)) {
      if (!isNamed(attribute, 'assertion', 'Attribute')) continue
      const name = attributeOf(attribute, 'Name') ?? ''
      const values = children(attribute, 'assertion', 'AttributeValue').map((value) => textOf(value) ?? '')
      const list = found.get(name) ?? []
      list.push(...values.filter((value) => value.trim() !== ''))
      found.set(name, list)
    }
  }
  return found
}
