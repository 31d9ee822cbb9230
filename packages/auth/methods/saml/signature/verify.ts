import { type KeyObject, X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import { elementsOf, type XmlElement } from '../xml/dom.ts'
import type { XmlBounds } from '../xml/gate.ts'
import { attributeOf, isNamed, onlyChild, prefixesAt, readXml, type XmlDocument } from '../xml/read.ts'
import { XmlRefused } from '../xml/refused.ts'
import { digestOf, isSignedByOne } from './algorithms.ts'
import { checkSignatureStructure, type SignatureFacts } from './structure.ts'

/** What is used of xml-crypto: see `xml/dom.ts` for why its declarations are not. */
interface Canonicalization {
  process(
    element: XmlElement,
    options: {
      readonly inclusiveNamespacesPrefixList: readonly string[]
      readonly ancestorNamespaces: readonly { readonly prefix: string; readonly namespaceURI: string }[]
    },
  ): string
}

const { ExclusiveCanonicalization } = createRequire(import.meta.url)('xml-crypto') as {
  ExclusiveCanonicalization: new () => Canonicalization
}

/** Public keys of certificates in PEM. */
export function publicKeysOf(certificates: readonly string[]): readonly KeyObject[] {
  return certificates.map((pem) => new X509Certificate(pem).publicKey)
}

/** The signature of an element, undefined where it has none. @throws XmlRefused when it has several */
export function signatureOf(element: XmlElement): XmlElement | undefined {
  return onlyChild(element, 'signature', 'Signature')
}

/** @throws XmlRefused when two elements of a document could be meant by one reference */
function requireUniqueIds(root: XmlElement): void {
  const seen = new Set<string>()
  for (const { attributes } of elementsOf(root)) {
    for (const { localName, value } of Array.from(attributes)) {
      if (localName.toLowerCase() !== 'id') continue
      if (seen.has(value)) throw new XmlRefused('an ID is not unique')
      seen.add(value)
    }
  }
}

/**
 * Verifies the signature that stands in an element over this very element, by the keys given and no other.
 * @param element of the document, with a signature
 * @returns the element as it was signed: the canonical text that the digest was made of, parsed again. Nothing else of
 *   the document is signed, so nothing else of it may be believed
 * @throws XmlRefused
 */
export function verifyEnveloped(
  document: XmlDocument,
  element: XmlElement,
  keys: readonly KeyObject[],
  bounds?: XmlBounds,
): XmlDocument {
  const signature = signatureOf(element)
  const id = attributeOf(element, 'ID') ?? ''
  if (signature === undefined) throw new XmlRefused('it is not signed')
  if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/.test(id))
    throw new XmlRefused('the signed element has no ID of the right form')
  requireUniqueIds(document.root)
  const canonical = validated(element, signature, checkSignatureStructure(signature, id), keys)
  const signed = readXml(canonical, bounds)
  const same =
    signed.root.localName === element.localName &&
    signed.root.namespaceURI === element.namespaceURI &&
    attributeOf(signed.root, 'ID') === id
  if (!same) throw new XmlRefused('the signature is of another element')
  return signed
}

/**
 * Core validation (XML Signature §3.2), the signature before the digest: what a stranger sends costs no canonicalization
 * of the whole. Takes the signature out of the element (the enveloped-signature transform).
 * @returns the canonical text of the element
 */
function validated(
  element: XmlElement,
  signature: XmlElement,
  facts: SignatureFacts,
  keys: readonly KeyObject[],
): string {
  const { signedInfo, signatureAlgorithm, signatureValue, hash, digestValue, inclusivePrefixes } = facts
  const info = Buffer.from(canonicalText(signedInfo, []))
  if (!isSignedByOne(keys, signatureAlgorithm, info, signatureValue)) throw wrongSignature()
  element.removeChild(signature)
  const canonical = canonicalText(element, inclusivePrefixes)
  if (!digestOf(hash, canonical).equals(digestValue)) throw wrongSignature()
  return canonical
}

const wrongSignature = () => new XmlRefused('the signature is not right')

/** Exclusive canonicalization without comments. */
function canonicalText(element: XmlElement, inclusiveNamespacesPrefixList: readonly string[]): string {
  const own = Array.from(element.attributes).map(({ name }) => name)
  const around = [...prefixesAt(element)].filter(
    ([prefix, uri]) => uri !== '' && !own.includes(`xmlns:${prefix}`),
  )
  const ancestorNamespaces = around.map(([prefix, namespaceURI]) => ({ prefix, namespaceURI }))
  return new ExclusiveCanonicalization().process(element, {
    inclusiveNamespacesPrefixList,
    ancestorNamespaces,
  })
}

/** Whether a document has a signature anywhere but directly in one of these elements. */
export function hasForeignSignature(root: XmlElement, owners: readonly XmlElement[]): boolean {
  return elementsOf(root).some(
    (element) =>
      element.localName === 'Signature' &&
      !(isNamed(element, 'signature', 'Signature') && owners.some((owner) => owner === element.parentNode)),
  )
}
