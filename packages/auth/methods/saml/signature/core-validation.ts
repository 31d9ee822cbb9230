import type { KeyObject } from 'node:crypto'
import { createRequire } from 'node:module'
import type { XmlElement } from '../xml/dom.ts'
import { namespaces } from '../xml/names.ts'
import { prefixesAt, type XmlDocument } from '../xml/read.ts'
import { XmlRefused } from '../xml/xml-refused.ts'
import { libraryDigests, librarySignatures, signerAmong } from './algorithms.ts'
import type { SignatureFacts } from './structure.ts'

type ByUri = Readonly<Record<string, unknown>>

/** The used part of xml-crypto: see `xml/dom.ts` for why its own declarations are not used. */
interface LibraryVerifier {
  CanonicalizationAlgorithms: ByUri
  HashAlgorithms: ByUri
  SignatureAlgorithms: ByUri
  idAttributes: readonly string[]
  publicCert: KeyObject
  getCanonXml(transforms: readonly string[], element: XmlElement, options: object): string
  loadSignature(signature: XmlElement): void
  /** @throws Error where anything but a digest is wrong */
  checkSignature(xml: string): boolean
  /** Canonical text of what was verified. */
  getSignedReferences(): readonly string[]
}

const { SignedXml } = createRequire(import.meta.url)('xml-crypto') as {
  SignedXml: new (options: object) => LibraryVerifier
}

const { exclusiveC14n } = namespaces
const enveloped = `${namespaces.signature}enveloped-signature`

/**
 * Core validation (XML Signature §3.2) by `xml-crypto`, after a check of the signature alone: the library canonicalizes
 * and hashes the document before it looks at the signature, and a stranger's document is not to cost that.
 * @param signature in the document, of the structure that SAML allows; its KeyInfo is taken out of it
 * @returns what the signature covers, as the library says: canonical text
 * @throws XmlRefused
 */
export function validateSignature(
  document: XmlDocument,
  signature: XmlElement,
  facts: SignatureFacts,
  keys: readonly KeyObject[],
): string {
  const verifier = newVerifier()
  verifier.publicCert = findSigner(facts, keys, verifier)
  if (facts.keyInfo !== undefined) signature.removeChild(facts.keyInfo)
  const [text, ...others] = readSignedReferences(verifier, document.text, signature)
  if (text === undefined || others.length > 0) throw wrongSignature()
  return text
}

const wrongSignature = () => new XmlRefused('the signature is not right')

/** Knows our algorithms and no others, no key yet, and `ID` for the name of an ID. */
function newVerifier(): LibraryVerifier {
  const verifier = new SignedXml({ getCertFromKeyInfo: () => null })
  const { [exclusiveC14n]: canonicalization, [enveloped]: transform } = verifier.CanonicalizationAlgorithms
  verifier.CanonicalizationAlgorithms = { [exclusiveC14n]: canonicalization, [enveloped]: transform }
  verifier.HashAlgorithms = libraryDigests
  verifier.SignatureAlgorithms = librarySignatures
  verifier.idAttributes = ['ID']
  return verifier
}

/** The key that has signed SignedInfo. */
function findSigner(
  { signedInfo, signatureAlgorithm, signatureValue }: SignatureFacts,
  keys: readonly KeyObject[],
  verifier: LibraryVerifier,
): KeyObject {
  const declared = [...prefixesAt(signedInfo)]
  const ancestorNamespaces = declared.map(([prefix, namespaceURI]) => ({ prefix, namespaceURI }))
  const info = verifier.getCanonXml([exclusiveC14n], signedInfo, { ancestorNamespaces })
  const signer = signerAmong(keys, signatureAlgorithm, Buffer.from(info), signatureValue)
  if (signer === undefined) throw wrongSignature()
  return signer
}

function readSignedReferences(
  verifier: LibraryVerifier,
  xml: string,
  signature: XmlElement,
): readonly string[] {
  let isRight: boolean
  try {
    verifier.loadSignature(signature)
    isRight = verifier.checkSignature(xml)
  } catch {
    // The library throws an Error of no class of its own for whatever is wrong with a signature.
    throw wrongSignature()
  }
  if (!isRight) throw wrongSignature()
  return verifier.getSignedReferences()
}
