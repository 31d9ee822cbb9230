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
  /** @throws Error for every problem but a wrong digest */
  checkSignature(xml: string): boolean
  /** Canonical text of the verified references. */
  getSignedReferences(): readonly string[]
}

const { SignedXml } = createRequire(import.meta.url)('xml-crypto') as {
  SignedXml: new (options: object) => LibraryVerifier
}

const { exclusiveC14n } = namespaces
const enveloped = `${namespaces.signature}enveloped-signature`

/**
 * Core validation (XML Signature §3.2) by `xml-crypto`. The signature itself is verified first, because the library
 * canonicalizes and hashes the document before it verifies the signature, which an unauthenticated document must not
 * cause.
 * @param signature in the document, with the structure that SAML allows; its KeyInfo is removed
 * @returns the signed content as the library returns it: canonical text
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

const wrongSignature = () => new XmlRefused('the signature is invalid')

/** Creates a verifier with only the allowed algorithms, without a key, with `ID` as the ID attribute. */
function newVerifier(): LibraryVerifier {
  const verifier = new SignedXml({ getCertFromKeyInfo: () => null })
  const { [exclusiveC14n]: canonicalization, [enveloped]: transform } = verifier.CanonicalizationAlgorithms
  verifier.CanonicalizationAlgorithms = { [exclusiveC14n]: canonicalization, [enveloped]: transform }
  verifier.HashAlgorithms = libraryDigests
  verifier.SignatureAlgorithms = librarySignatures
  verifier.idAttributes = ['ID']
  return verifier
}

/** Finds the key that signed SignedInfo. */
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
    // The library throws a plain Error for every problem with a signature.
    throw wrongSignature()
  }
  if (!isRight) throw wrongSignature()
  return verifier.getSignedReferences()
}
