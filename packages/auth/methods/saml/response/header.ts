import type { XmlElement } from '../xml/dom.ts'
import { success } from '../xml/names.ts'
import { attributeOf, children, textOf } from '../xml/read.ts'
import type { Expected } from './expected.ts'
import { rejected } from './refused.ts'

/**
 * Checks the response itself, besides the assertion (SAML 2.0 core §3.2.2). Where only the assertion is signed,
 * nobody vouches for this: it can refuse a login, and adds nothing to one.
 */
export function checkHeader(response: XmlElement, expected: Expected, isSigned: boolean): void {
  if (attributeOf(response, 'Version') !== '2.0') throw rejected('xml', 'it is not of Version 2.0')
  const destination = attributeOf(response, 'Destination')
  if (destination === undefined && isSigned) throw rejected('destination', 'it has no Destination')
  if (destination !== undefined && destination !== expected.acsUrl)
    throw rejected('destination', 'its Destination is not this service')
  if (attributeOf(response, 'InResponseTo') !== expected.requestId)
    throw rejected('in_response_to', 'its InResponseTo is not the request of this browser')
  for (const issuer of children(response, 'assertion', 'Issuer')) {
    if (textOf(issuer) !== expected.idpEntityId)
      throw rejected('issuer', 'its Issuer is not the IdP of the realm')
  }
  const [status] = children(response, 'protocol', 'Status')
  const codes = status === undefined ? [] : children(status, 'protocol', 'StatusCode')
  const [code] = codes
  if (code === undefined || codes.length > 1 || attributeOf(code, 'Value') !== success)
    throw rejected('status', `its StatusCode is not Success${toldCode(code)}`)
}

/** The codes that an identity provider gave, as far as they are names of SAML. */
function toldCode(code: XmlElement | undefined): string {
  if (code === undefined) return ''
  const all = [code, ...children(code, 'protocol', 'StatusCode')]
  const told = all.flatMap(
    (one) =>
      /^urn:oasis:names:tc:SAML:2\.0:status:(\w{1,64})$/.exec(attributeOf(one, 'Value') ?? '')?.[1] ?? [],
  )
  return told.length === 0 ? '' : ` but ${told.join(', ')}`
}
