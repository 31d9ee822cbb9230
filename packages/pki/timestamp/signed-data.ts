import {
  contextTag,
  type DerElement,
  der,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derTag,
} from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import { identifiers } from './identifiers.ts'

const what = 'The time-stamp token'

/** A CMS SignedData (RFC 5652 §5) of one signer with signed attributes, as time-stamp tokens are. */
export interface SignedData {
  /** The signed bytes. */
  readonly content: Uint8Array
  /** DER of the included certificates. */
  readonly certificates: readonly Uint8Array[]
  /** Dotted. */
  readonly digestAlgorithm: string
  /** DER of the AlgorithmIdentifier. */
  readonly signatureAlgorithm: Uint8Array
  readonly signature: Uint8Array
  /** DER of the signed SET (§5.4). */
  readonly signedAttributes: Uint8Array
  /** The single value of each attribute, by its dotted name. */
  readonly attributes: ReadonlyMap<string, DerElement>
}

/**
 * Reads a SignedData structure, without verifying its signature.
 * @param type of the content, dotted
 * @throws PkiError
 */
export function readSignedData(token: Uint8Array, type: string): SignedData {
  const [contentType, wrapped, another] = derMembers(token, what)
  if (derIdentifier(contentType, what) !== identifiers.signedData || another !== undefined)
    throw decodeError('is not signed data')
  const [body] = derElements(derContent(wrapped, contextTag(0), what), what)
  const [, , encapsulated, ...rest] = derMembers(body?.whole ?? new Uint8Array(), what)
  const certificates = rest[0]?.tag === contextTag(0) ? rest.shift() : undefined
  if (rest[0]?.tag === contextTag(1)) rest.shift()
  const [signers, more] = rest
  if (more !== undefined) throw decodeError('has too many members')
  const [eType, eContent] = derMembers(encapsulated?.whole ?? new Uint8Array(), what)
  if (derIdentifier(eType, what) !== type) throw decodeError('is of another type')
  const [octets] = derElements(derContent(eContent, contextTag(0), what), what)
  const [signer, secondSigner] = derElements(derContent(signers, derTag.set, what), what)
  if (signer === undefined || secondSigner !== undefined) throw decodeError('does not have one signer')
  return {
    content: derContent(octets, derTag.octetString, what),
    // The list may contain other forms than certificates, which have their own tags.
    certificates: derElements(certificates?.content ?? new Uint8Array(), what)
      .filter(({ tag }) => tag === derTag.sequence)
      .map(({ whole }) => whole),
    ...readSigner(signer),
  }
}

function readSigner(signer: DerElement) {
  const [, , digest, attributes, algorithm, signature] = derMembers(signer.whole, what)
  const [digestAlgorithm] = derMembers(digest?.whole ?? new Uint8Array(), what)
  const signed = derContent(attributes, contextTag(0), what)
  if (algorithm?.tag !== derTag.sequence) throw decodeError('has no signature')
  const found = new Map<string, DerElement>()
  for (const attribute of derElements(signed, what)) {
    const [name, values] = derMembers(attribute.whole, what)
    const identifier = derIdentifier(name, what)
    const [value, second] = derElements(derContent(values, derTag.set, what), what)
    if (value === undefined || second !== undefined || found.has(identifier))
      throw decodeError('has an attribute that does not have one value')
    found.set(identifier, value)
  }
  return {
    digestAlgorithm: derIdentifier(digestAlgorithm, what),
    signatureAlgorithm: algorithm.whole,
    signature: derContent(signature, derTag.octetString, what),
    // The signature covers the SET tag, not the tag in the SignerInfo (RFC 5652 §5.4).
    signedAttributes: der(derTag.set, signed),
    attributes: found,
  }
}

function decodeError(problem: string) {
  return pkiError('malformed', `${what} ${problem}.`)
}
