import type { XmlElement } from '../xml/dom.ts'
import { childElements, children, isNamed, onlyChild, readAttribute, readText } from '../xml/read.ts'
import { readTime } from '../xml/time.ts'
import { type Expected, skewSeconds } from './expected.ts'
import { rejectResponse, type SamlCheck, SamlRefused } from './saml-refused.ts'

/** Known conditions; an unknown one would make the validity of the assertion indeterminate (core §2.5.1). */
const understood = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** SAML 2.0 core §2.5. @throws SamlRefused */
export function checkConditions(assertion: XmlElement, { spEntityId, now }: Expected): void {
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

/** Returns the refusal when a time has passed or is invalid; undefined where there is no time. */
export function notAfter(check: SamlCheck, text: string | undefined, now: number): SamlRefused | undefined {
  if (text === undefined) return undefined
  const end = readTime(text)
  if (end === undefined) return rejectResponse(check, 'NotOnOrAfter is not a time')
  return now >= end + skewSeconds ? rejectResponse(check, 'the assertion has expired') : undefined
}

/** Returns the refusal when a time has not come yet or is invalid. */
export function notBefore(check: SamlCheck, text: string | undefined, now: number): SamlRefused | undefined {
  if (text === undefined) return undefined
  const start = readTime(text)
  if (start === undefined) return rejectResponse(check, 'NotBefore is not a time')
  return now < start - skewSeconds ? rejectResponse(check, 'the assertion is not yet valid') : undefined
}
