import type { XmlElement } from '../xml/dom.ts'
import { success } from '../xml/names.ts'
import { children, readAttribute, readText } from '../xml/read.ts'
import type { Expected } from './expected.ts'
import { rejectResponse } from './saml-refused.ts'

/**
 * Checks the response without the assertion (SAML 2.0 core §3.2.2). Where only the assertion is signed, the header is
 * not authenticated: it can cause a refusal, but contributes nothing to a login.
 */
export function checkHeader(response: XmlElement, expected: Expected, isSigned: boolean): void {
  if (readAttribute(response, 'Version') !== '2.0') throw rejectResponse('xml', 'it is not of Version 2.0')
  const destination = readAttribute(response, 'Destination')
  if (destination === undefined && isSigned) throw rejectResponse('destination', 'it has no Destination')
  if (destination !== undefined && destination !== expected.acsUrl)
    throw rejectResponse('destination', 'its Destination is not this service')
  if (readAttribute(response, 'InResponseTo') !== expected.requestId)
    throw rejectResponse('in_response_to', 'its InResponseTo is not the request of this browser')
  for (const issuer of children(response, 'assertion', 'Issuer')) {
    if (readText(issuer) !== expected.idpEntityId)
      throw rejectResponse('issuer', 'its Issuer is not the IdP of the realm')
  }
  const [status] = children(response, 'protocol', 'Status')
  const codes = status === undefined ? [] : children(status, 'protocol', 'StatusCode')
  const [code] = codes
  if (code === undefined || codes.length > 1 || readAttribute(code, 'Value') !== success)
    throw rejectResponse('status', `its StatusCode is not Success${formatStatusCodes(code)}`)
}

/** Formats the status codes of an identity provider that are names of SAML. */
function formatStatusCodes(code: XmlElement | undefined): string {
  if (code === undefined) return ''
  const all = [code, ...children(code, 'protocol', 'StatusCode')]
  const told = all.flatMap(
    (one) =>
      /^urn:oasis:names:tc:SAML:2\.0:status:(\w{1,64})$/.exec(readAttribute(one, 'Value') ?? '')?.[1] ?? [],
  )
  return told.length === 0 ? '' : ` but ${told.join(', ')}`
}
