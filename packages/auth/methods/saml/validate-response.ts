import { type Assertion, checkAssertion } from './assertion.ts'
import { type Expected, type ExpectedOnce, rejectResponse, type SamlCheck, SamlRefused } from './checks.ts'
import { decryptElement } from './decrypt.ts'
import { findSignature, hasForeignSignature, readPublicKeys, verifyEnveloped } from './signature.ts'
import {
  children,
  escapeXml,
  isNamed,
  listElements,
  namespaces,
  prefixesAt,
  readAttribute,
  readText,
  readTime,
  readXml,
  success,
  utf8,
  type XmlDocument,
  type XmlElement,
} from './xml.ts'
import { XmlRefused } from './xml-gate.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/
const notEncoded = () => new SamlRefused('encoding', 'SAMLResponse is not base64-encoded UTF-8')

/** Text of a `SAMLResponse` field (SAML 2.0 bindings §3.5.4). @throws SamlRefused */
export function decodeMessage(field: string): string {
  const compact = field.replaceAll(/[ \t\r\n]/g, '')
  if (compact === '' || compact.length % 4 === 1 || !base64.test(compact)) throw notEncoded()
  try {
    return utf8(Buffer.from(compact, 'base64'))
  } catch {
    throw notEncoded()
  }
}

/**
 * Validates a response: every check that needs only the response and the expected values.
 * @returns the contents of its assertion, read from the canonical form of the signed text
 * @throws SamlRefused
 */
export function validateResponse(xml: string, given: ExpectedOnce): Assertion {
  const document = guard('xml', () => readXml(xml))
  const { root } = document
  if (!isNamed(root, 'protocol', 'Response')) throw rejectResponse('xml', 'it is not a Response of SAML 2.0')
  guard('xml', () => requireOneOfEach(root))
  const expected = completeExpected(given, root)
  const keys = readPublicKeys(expected.idpCertificates)
  if (keys.length === 0) throw new SamlRefused('signature', 'the realm has no IdP signing certificate')
  const isSigned = guard('signature', () => findSignature(root)) !== undefined
  const believed = isSigned ? guard('signature', () => verifyEnveloped(document, root, keys)) : document
  checkHeader(believed.root, expected, isSigned)
  const { holder, element } = findAssertion(believed, expected)
  const hasSignature = guard('signature', () => findSignature(element)) !== undefined
  if (!isSigned && !hasSignature)
    throw rejectResponse('signature', 'the response or its assertion must be signed')
  const assertion = hasSignature
    ? guard('signature', () => verifyEnveloped(holder, element, keys)).root
    : element
  return checkAssertion(assertion, expected)
}

/** @throws SamlRefused when a captured response has no IssueInstant */
function completeExpected(given: ExpectedOnce, response: XmlElement): Expected {
  const now = given.now ?? readTime(readAttribute(response, 'IssueInstant') ?? '')
  if (now === undefined) throw rejectResponse('xml', 'it has no IssueInstant')
  return { ...given, now, requestId: given.requestId ?? readAttribute(response, 'InResponseTo') ?? '' }
}

/** Requires exactly one of each element that another parser could mistake for the response or the assertion. */
function requireOneOfEach(root: XmlElement): void {
  const all = listElements(root)
  const count = (...names: readonly string[]): number =>
    all.filter(({ localName }) => names.includes(localName)).length
  if (count('Response') !== 1) throw new XmlRefused('it has a second Response')
  if (count('Assertion', 'EncryptedAssertion') > 1) throw new XmlRefused('it has more than one assertion')
  if (hasForeignSignature(root, [root, ...children(root, 'assertion', 'Assertion')]))
    throw new XmlRefused('it has a Signature that is not a child of the Response or its Assertion')
}

/** Finds the assertion of a response, and the document that contains it. */
function findAssertion(
  response: XmlDocument,
  expected: Expected,
): { readonly holder: XmlDocument; readonly element: XmlElement } {
  const [plain] = children(response.root, 'assertion', 'Assertion')
  if (plain !== undefined) return { holder: response, element: plain }
  const [encrypted] = children(response.root, 'assertion', 'EncryptedAssertion')
  if (encrypted === undefined) throw rejectResponse('assertion', 'it has no assertion')
  const holder = guard('encryption', () => decryptAssertion(encrypted, expected))
  const [element, other] = children(holder.root, 'assertion', 'Assertion')
  guard('xml', () => requireOneAssertion(holder.root))
  if (element === undefined || other !== undefined)
    throw rejectResponse('encryption', 'the encrypted content is not an assertion')
  return { holder, element }
}

function requireOneAssertion(wrapper: XmlElement): void {
  const inner = listElements(wrapper).filter(({ localName }) =>
    /^(?:Encrypted)?Assertion$|^Response$/.test(localName),
  )
  if (inner.length > 2) throw new XmlRefused('it has more than one assertion')
  if (hasForeignSignature(wrapper, children(wrapper, 'assertion', 'Assertion')))
    throw new XmlRefused('it has a Signature that is not a child of its Assertion')
}

/** Parses the decrypted element with the prefixes that were in scope at its position (XML Encryption §4.4). */
function decryptAssertion(encrypted: XmlElement, expected: Expected): XmlDocument {
  const plain = utf8(decryptElement(encrypted, expected.decryptionKeys))
  const declared = [...prefixesAt(encrypted)]
    .filter(([prefix]) => prefix !== 'warder')
    .map(([prefix, uri]) => ` xmlns${prefix && `:${prefix}`}="${escapeXml(uri)}"`)
  const name = 'EncryptedAssertion'
  // Uses a prefix of its own, so that all outer prefixes have the same meaning inside.
  return readXml(
    `<warder:${name} xmlns:warder="${namespaces.assertion}"${declared.join('')}>${plain}</warder:${name}>`,
  )
}

function guard<T>(check: SamlCheck, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof XmlRefused) throw rejectResponse(check, error.message)
    throw error
  }
}

/**
 * Checks the response without the assertion (SAML 2.0 core §3.2.2). If only the assertion is signed, the header is not
 * authenticated: it can cause a refusal, but contributes nothing to a login.
 */
function checkHeader(response: XmlElement, expected: Expected, isSigned: boolean): void {
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
