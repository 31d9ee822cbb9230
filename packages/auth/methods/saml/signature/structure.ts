import type { XmlElement } from '../xml/dom.ts'
import { namespaces } from '../xml/names.ts'
import { childElements, children, isNamed, readAttribute, readText } from '../xml/read.ts'
import { XmlRefused } from '../xml/xml-refused.ts'
import { isDigestAlgorithm, isSignatureAlgorithm } from './algorithms.ts'

/** Contents of a signature with the structure that SAML allows. */
export interface SignatureFacts {
  readonly signedInfo: XmlElement
  readonly signatureAlgorithm: string
  readonly signatureValue: Buffer
  /** Present in some signatures; never read. */
  readonly keyInfo: XmlElement | undefined
}

const enveloped = `${namespaces.signature}enveloped-signature`
const c14n = namespaces.exclusiveC14n
const base64 = /^[A-Za-z0-9+/ \t\r\n]+={0,2}[ \t\r\n]*$/

/**
 * Checks that a signature is exactly as SAML 2.0 core §5.4 describes: of one element, by its ID, enveloped in it,
 * with exclusive canonicalization, allowed algorithms and no other parts. KeyInfo may be present and is ignored.
 * @param id of the element that contains the signature
 * @throws XmlRefused
 */
export function checkSignatureStructure(signature: XmlElement, id: string): SignatureFacts {
  const parts = childElements(signature)
  const keyInfo = parts.at(2)
  const known = parts.length <= 3 && (keyInfo === undefined || isNamed(keyInfo, 'signature', 'KeyInfo'))
  if (!known) throw new XmlRefused('Signature has a child that SAML does not allow')
  const [info, value] = [requireElement(parts[0], 'SignedInfo'), requireElement(parts[1], 'SignatureValue')]
  const infoParts = childElements(info)
  if (infoParts.length !== 3) throw new XmlRefused('SignedInfo must have one Reference')
  const [method, algorithm, reference] = [
    requireElement(infoParts[0], 'CanonicalizationMethod'),
    requireElement(infoParts[1], 'SignatureMethod'),
    requireElement(infoParts[2], 'Reference'),
  ]
  requireExclusive(method)
  const signatureAlgorithm = readAttribute(algorithm, 'Algorithm') ?? ''
  if (!isSignatureAlgorithm(signatureAlgorithm) || childElements(algorithm).length > 0)
    throw new XmlRefused('the signature algorithm is not allowed')
  requireReference(reference, id)
  return { signedInfo: info, signatureAlgorithm, signatureValue: readBase64(value), keyInfo }
}

function requireReference(reference: XmlElement, id: string): void {
  if (readAttribute(reference, 'URI') !== `#${id}`)
    throw new XmlRefused('the Reference does not refer to the parent of the Signature')
  const parts = childElements(reference)
  if (parts.length !== 3) throw new XmlRefused('the Reference has children that SAML does not allow')
  requireTransforms(requireElement(parts[0], 'Transforms'))
  const method = requireElement(parts[1], 'DigestMethod')
  if (!isDigestAlgorithm(readAttribute(method, 'Algorithm') ?? '') || childElements(method).length > 0)
    throw new XmlRefused('the digest algorithm is not allowed')
  readBase64(requireElement(parts[2], 'DigestValue'))
}

/** The two required transforms, in this order. */
function requireTransforms(transforms: XmlElement): void {
  const list = children(transforms, 'signature', 'Transform')
  const [first, second] = list
  if (childElements(transforms).length !== 2 || first === undefined || second === undefined)
    throw new XmlRefused('the transforms are not allowed')
  if (readAttribute(first, 'Algorithm') !== enveloped || childElements(first).length > 0)
    throw new XmlRefused('the transforms are not allowed')
  requireExclusive(second)
}

/** Exclusive canonicalization without comments. */
function requireExclusive(method: XmlElement): void {
  if (readAttribute(method, 'Algorithm') !== c14n) throw new XmlRefused('the canonicalization is not allowed')
  const parts = childElements(method)
  const known = parts.every((part) => isNamed(part, 'exclusiveC14n', 'InclusiveNamespaces'))
  if (parts.length > 1 || !known) throw new XmlRefused('the canonicalization is not allowed')
}

function requireElement(element: XmlElement | undefined, name: string): XmlElement {
  if (element !== undefined && isNamed(element, 'signature', name)) return element
  throw new XmlRefused(`Signature has no ${name} in the expected position`)
}

/** Requires a single text node: parsers treat several ones differently. */
function readBase64(element: XmlElement): Buffer {
  const text = readText(element) ?? ''
  if (element.childNodes.length !== 1 || !base64.test(text))
    throw new XmlRefused(`${element.localName} is not base64`)
  return Buffer.from(text, 'base64')
}
