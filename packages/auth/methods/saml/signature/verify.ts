import { type KeyObject, X509Certificate } from 'node:crypto'
import { listElements, type XmlElement } from '../xml/dom.ts'
import type { XmlBounds } from '../xml/gate.ts'
import { isNamed, onlyChild, readAttribute, readXml, type XmlDocument } from '../xml/read.ts'
import { XmlRefused } from '../xml/xml-refused.ts'
import { validateSignature } from './core-validation.ts'
import { checkSignatureStructure } from './structure.ts'

/** Public keys of certificates in PEM. */
export function readPublicKeys(certificates: readonly string[]): readonly KeyObject[] {
  return certificates.map((pem) => new X509Certificate(pem).publicKey)
}

/** Finds the signature of an element; undefined when it has none. @throws XmlRefused when it has several */
export function findSignature(element: XmlElement): XmlElement | undefined {
  return onlyChild(element, 'signature', 'Signature')
}

/** @throws XmlRefused when an ID is not unique in the document */
function requireUniqueIds(root: XmlElement): void {
  const seen = new Set<string>()
  for (const { attributes } of listElements(root)) {
    for (const { localName, value } of Array.from(attributes)) {
      if (localName.toLowerCase() !== 'id') continue
      if (seen.has(value)) throw new XmlRefused('an ID is not unique')
      seen.add(value)
    }
  }
}

/**
 * Verifies that the signature in an element covers this element, with the given keys only.
 * @param element of the document, with a signature
 * @returns the signed element, parsed again from the canonical text that was digested. Nothing else of the document
 *   is signed, so nothing else may be trusted
 * @throws XmlRefused
 */
export function verifyEnveloped(
  document: XmlDocument,
  element: XmlElement,
  keys: readonly KeyObject[],
  bounds?: XmlBounds,
): XmlDocument {
  const signature = findSignature(element)
  const id = readAttribute(element, 'ID') ?? ''
  if (signature === undefined) throw new XmlRefused('it is not signed')
  if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/.test(id)) throw new XmlRefused('the signed element has no valid ID')
  requireUniqueIds(document.root)
  const facts = checkSignatureStructure(signature, id)
  const signed = readXml(validateSignature(document, signature, facts, keys), bounds)
  const same =
    signed.root.localName === element.localName &&
    signed.root.namespaceURI === element.namespaceURI &&
    readAttribute(signed.root, 'ID') === id
  if (!same) throw new XmlRefused('the signature covers another element')
  return signed
}

/** Whether a document has a signature that is not a direct child of one of these elements. */
export function hasForeignSignature(root: XmlElement, owners: readonly XmlElement[]): boolean {
  return listElements(root).some(
    (element) =>
      element.localName === 'Signature' &&
      !(isNamed(element, 'signature', 'Signature') && owners.some((owner) => owner === element.parentNode)),
  )
}
