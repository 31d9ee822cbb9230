import type { XmlElement } from '../xml/dom.ts'
import { namespaces } from '../xml/names.ts'
import { attributeOf, childElements, children, isNamed, textOf } from '../xml/read.ts'
import { XmlRefused } from '../xml/refused.ts'
import { digestHash, isSignatureAlgorithm } from './algorithms.ts'

/** What a signature says of itself, once its structure is the one that SAML allows. */
export interface SignatureFacts {
  readonly signedInfo: XmlElement
  readonly signatureAlgorithm: string
  readonly signatureValue: Buffer
  /** Name of the hash for `node:crypto`. */
  readonly hash: string
  readonly digestValue: Buffer
  /** PrefixList of the canonicalization of the element (Exclusive XML Canonicalization §3). */
  readonly inclusivePrefixes: readonly string[]
}

const enveloped = `${namespaces.signature}enveloped-signature`
const c14n = namespaces.exclusiveC14n
const base64 = /^[A-Za-z0-9+/ \t\r\n]+={0,2}[ \t\r\n]*$/

/**
 * Checks that a signature is exactly what SAML 2.0 core §5.4 describes: of one element, by its ID, enveloped in it,
 * exclusive canonicalization, algorithms of the allow-lists, nothing besides. KeyInfo may be there and is not read.
 * @param id of the element that the signature stands in
 * @throws XmlRefused
 */
export function checkSignatureStructure(signature: XmlElement, id: string): SignatureFacts {
  const parts = childElements(signature)
  const last = parts.at(2)
  const known = parts.length <= 3 && (last === undefined || isNamed(last, 'signature', 'KeyInfo'))
  if (!known) throw new XmlRefused('Signature has a child that SAML does not allow')
  const [info, value] = [named(parts[0], 'SignedInfo'), named(parts[1], 'SignatureValue')]
  const infoParts = childElements(info)
  if (infoParts.length !== 3) throw new XmlRefused('SignedInfo must have one Reference')
  const [method, algorithm, reference] = [
    named(infoParts[0], 'CanonicalizationMethod'),
    named(infoParts[1], 'SignatureMethod'),
    named(infoParts[2], 'Reference'),
  ]
  requireExclusive(method)
  const signatureAlgorithm = attributeOf(algorithm, 'Algorithm') ?? ''
  if (!isSignatureAlgorithm(signatureAlgorithm) || childElements(algorithm).length > 0)
    throw new XmlRefused('the signature algorithm is not allowed')
  return {
    signedInfo: info,
    signatureAlgorithm,
    signatureValue: base64Of(value),
    ...referenceFacts(reference, id),
  }
}

function referenceFacts(
  reference: XmlElement,
  id: string,
): Pick<SignatureFacts, 'hash' | 'digestValue' | 'inclusivePrefixes'> {
  if (attributeOf(reference, 'URI') !== `#${id}`)
    throw new XmlRefused('the Reference is not of the element that the Signature is in')
  const parts = childElements(reference)
  if (parts.length !== 3) throw new XmlRefused('the Reference has other children than SAML allows')
  const inclusivePrefixes = prefixListOf(named(parts[0], 'Transforms'))
  const method = named(parts[1], 'DigestMethod')
  const hash = digestHash(attributeOf(method, 'Algorithm') ?? '')
  if (hash === undefined || childElements(method).length > 0)
    throw new XmlRefused('the digest algorithm is not allowed')
  return { hash, digestValue: base64Of(named(parts[2], 'DigestValue')), inclusivePrefixes }
}

/** Of the second of the two transforms that there must be. */
function prefixListOf(transforms: XmlElement): readonly string[] {
  const list = children(transforms, 'signature', 'Transform')
  const [first, second] = list
  if (childElements(transforms).length !== 2 || first === undefined || second === undefined)
    throw new XmlRefused('the transforms are not allowed')
  if (attributeOf(first, 'Algorithm') !== enveloped || childElements(first).length > 0)
    throw new XmlRefused('the transforms are not allowed')
  return requireExclusive(second)
}

/** Exclusive canonicalization without comments. @returns its list of prefixes */
function requireExclusive(method: XmlElement): readonly string[] {
  if (attributeOf(method, 'Algorithm') !== c14n) throw new XmlRefused('the canonicalization is not allowed')
  const parts = childElements(method)
  const known = parts.every((part) => isNamed(part, 'exclusiveC14n', 'InclusiveNamespaces'))
  if (parts.length > 1 || !known) throw new XmlRefused('the canonicalization is not allowed')
  return parts
    .flatMap((part) => (attributeOf(part, 'PrefixList') ?? '').split(/\s+/))
    .filter((one) => one !== '')
}

function named(element: XmlElement | undefined, name: string): XmlElement {
  if (element !== undefined && isNamed(element, 'signature', name)) return element
  throw new XmlRefused(`Signature has no ${name} where SAML has it`)
}

/** One node of text: readers differ in what they make of several. */
function base64Of(element: XmlElement): Buffer {
  const text = textOf(element) ?? ''
  if (element.childNodes.length !== 1 || !base64.test(text))
    throw new XmlRefused(`${element.localName} is not base64`)
  return Buffer.from(text, 'base64')
}
