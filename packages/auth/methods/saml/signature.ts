import { createHash, type KeyObject, verify, X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import {
  childElements,
  children,
  isNamed,
  listElements,
  namespaces,
  onlyChild,
  prefixesAt,
  readAttribute,
  readText,
  readXml,
  type XmlDocument,
  type XmlElement,
} from './xml.ts'
import { type XmlBounds, XmlRefused } from './xml-gate.ts'

/** Digests that a reference may have: SHA-256 and longer (XML Encryption §5.7, RFC 6931 §2.1). */
const digests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

interface SignatureAlgorithm {
  readonly keyType: 'rsa' | 'ec'
  readonly hash: string
}

const more = 'http://www.w3.org/2001/04/xmldsig-more#'

/** RFC 6931 §2.3. No SHA-1, no HMAC: a certificate is public, and would be the secret. */
const signatures: Readonly<Record<string, SignatureAlgorithm>> = {
  [`${more}rsa-sha256`]: { keyType: 'rsa', hash: 'sha256' },
  [`${more}rsa-sha384`]: { keyType: 'rsa', hash: 'sha384' },
  [`${more}rsa-sha512`]: { keyType: 'rsa', hash: 'sha512' },
  [`${more}ecdsa-sha256`]: { keyType: 'ec', hash: 'sha256' },
  [`${more}ecdsa-sha384`]: { keyType: 'ec', hash: 'sha384' },
  [`${more}ecdsa-sha512`]: { keyType: 'ec', hash: 'sha512' },
}

export const rsaSha256 = `${more}rsa-sha256`

function isDigestAlgorithm(algorithm: string): boolean {
  return Object.hasOwn(digests, algorithm)
}

function isSignatureAlgorithm(algorithm: string): boolean {
  return Object.hasOwn(signatures, algorithm)
}

/** Finds the first key that made the signature. A key is only tried for algorithms of its own type. */
export function signerAmong(
  keys: readonly KeyObject[],
  algorithm: string,
  data: Uint8Array,
  signature: Uint8Array,
): KeyObject | undefined {
  const known = Object.hasOwn(signatures, algorithm) ? signatures[algorithm] : undefined
  return known && keys.find((key) => isSignedBy(key, known, data, signature))
}

function isSignedBy(
  key: KeyObject,
  { keyType, hash }: SignatureAlgorithm,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  return (
    key.asymmetricKeyType === keyType && verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  )
}

/** Interface of a digest in `xml-crypto`. */
interface LibraryDigest {
  getAlgorithmName(): string
  /** @returns base64 */
  getHash(xml: string): string
}

/** Interface of a signature in `xml-crypto`. */
interface LibrarySignature {
  getAlgorithmName(): string
  /** @param value base64 */
  verifySignature(data: string, key: KeyObject, value: string): boolean
}

/** The digests above, for `SignedXml.HashAlgorithms`: by their URI, and no others. */
const libraryDigests: Readonly<Record<string, new () => LibraryDigest>> = Object.fromEntries(
  Object.entries(digests).map(([uri, hash]) => [
    uri,
    class implements LibraryDigest {
      getAlgorithmName = (): string => uri
      getHash = (xml: string): string => createHash(hash).update(xml, 'utf8').digest('base64')
    },
  ]),
)

/** The signatures above, for `SignedXml.SignatureAlgorithms`: by their URI, and no others. */
const librarySignatures: Readonly<Record<string, new () => LibrarySignature>> = Object.fromEntries(
  Object.entries(signatures).map(([uri, algorithm]) => [
    uri,
    class implements LibrarySignature {
      getAlgorithmName = (): string => uri
      verifySignature = (data: string, key: KeyObject, value: string): boolean =>
        isSignedBy(key, algorithm, Buffer.from(data), Buffer.from(value, 'base64'))
    },
  ]),
)

/** Contents of a signature with the structure that SAML allows. */
interface SignatureFacts {
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
function checkSignatureStructure(signature: XmlElement, id: string): SignatureFacts {
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

/**
 * Core validation (XML Signature §3.2) by `xml-crypto`. The signature itself is verified first, because the library
 * canonicalizes and hashes the document before it verifies the signature, which an unauthenticated document must not
 * cause.
 * @param signature in the document, with the structure that SAML allows; its KeyInfo is removed
 * @returns the signed content as the library returns it: canonical text
 * @throws XmlRefused
 */
function validateSignature(
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
 * @returns the signed element, parsed again from the canonical text that was digested. Other parts of the
 *   document are not signed, so they must not be trusted
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
