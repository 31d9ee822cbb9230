import { type KeyObject, X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import { elementsOf, type XmlElement } from '../xml/dom.ts'
import { namespaces } from '../xml/names.ts'
import { attributeOf, isNamed, onlyChild, readXml, type XmlDocument } from '../xml/read.ts'
import { XmlRefused } from '../xml/refused.ts'
import { digestHash, digestOf, isSignedByOne } from './algorithms.ts'
import { checkSignatureStructure } from './structure.ts'

/** What is used of xml-crypto: see `xml/dom.ts` for why its declarations are not. */
interface SignedXml {
  CanonicalizationAlgorithms: Record<string, unknown>
  HashAlgorithms: Record<string, unknown>
  SignatureAlgorithms: Record<string, unknown>
  loadSignature(signature: XmlElement): void
  checkSignature(xml: string): boolean
  getSignedReferences(): readonly string[]
}

const { SignedXml } = createRequire(import.meta.url)('xml-crypto') as {
  SignedXml: new (options: object) => SignedXml
}

/** SAML 2.0 core §5.4.3 and §5.4.4. */
const transforms = [`${namespaces.signature}enveloped-signature`, namespaces.exclusiveC14n]

/** Public keys of certificates in PEM. */
export function publicKeysOf(certificates: readonly string[]): readonly KeyObject[] {
  return certificates.map((pem) => new X509Certificate(pem).publicKey)
}

/** The signature of an element, undefined where it has none. @throws XmlRefused when it has several */
export function signatureOf(element: XmlElement): XmlElement | undefined {
  return onlyChild(element, 'signature', 'Signature')
}

/** @throws XmlRefused when two elements of a document could be meant by one reference */
export function requireUniqueIds(root: XmlElement): void {
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
): XmlDocument {
  const signature = signatureOf(element)
  const id = attributeOf(element, 'ID') ?? ''
  if (signature === undefined) throw new XmlRefused('it is not signed')
  if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/.test(id))
    throw new XmlRefused('the signed element has no ID of the right form')
  requireUniqueIds(document.root)
  const facts = checkSignatureStructure(signature, id)
  const canonical = canonicalTextOf(document.text, signature, facts, keys)
  const signed = readXml(canonical)
  const same =
    signed.root.localName === element.localName &&
    signed.root.namespaceURI === element.namespaceURI &&
    attributeOf(signed.root, 'ID') === id
  if (!same) throw new XmlRefused('the signature is of another element')
  return signed
}

function canonicalTextOf(
  text: string,
  signature: XmlElement,
  facts: { readonly signatureAlgorithm: string; readonly digestAlgorithm: string },
  keys: readonly KeyObject[],
): string {
  const { signatureAlgorithm, digestAlgorithm } = facts
  const hash = digestHash(digestAlgorithm) ?? ''
  // A key of ours must be there; the one that counts is chosen in `verifySignature`. KeyInfo is not looked at.
  const verifier = new SignedXml({ publicCert: keys[0], getCertFromKeyInfo: () => null })
  const known = verifier.CanonicalizationAlgorithms
  verifier.CanonicalizationAlgorithms = Object.fromEntries(transforms.map((name) => [name, known[name]]))
  verifier.HashAlgorithms = {
    [digestAlgorithm]: class {
      getHash = (data: string): string => digestOf(hash, data)
      getAlgorithmName = (): string => digestAlgorithm
    },
  }
  verifier.SignatureAlgorithms = {
    [signatureAlgorithm]: class {
      verifySignature = (data: string, _key: unknown, value: string): boolean =>
        isSignedByOne(keys, signatureAlgorithm, Buffer.from(data), Buffer.from(value, 'base64'))
      getAlgorithmName = (): string => signatureAlgorithm
    },
  }
  let right: boolean
  try {
    verifier.loadSignature(signature)
    right = verifier.checkSignature(text)
  } catch {
    right = false
  }
  const [canonical, ...others] = right ? verifier.getSignedReferences() : []
  if (canonical === undefined || others.length > 0) throw new XmlRefused('the signature is not right')
  return canonical
}

/** Whether a document has a signature anywhere but directly in one of these elements. */
export function hasForeignSignature(root: XmlElement, owners: readonly XmlElement[]): boolean {
  return elementsOf(root).some(
    (element) =>
      element.localName === 'Signature' &&
      !(isNamed(element, 'signature', 'Signature') && owners.some((owner) => owner === element.parentNode)),
  )
}
