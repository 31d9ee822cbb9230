import { X509Certificate } from 'node:crypto'
import {
  contextTag,
  type DerElement,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derTag,
} from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import { type NameParts, readNameParts } from './distinguished-name.ts'

/** The used fields of an X.509 certificate. */
export interface CertificateFields {
  /** Object identifier of the algorithm that signed it. */
  readonly signatureAlgorithm: string
  /** The content of the INTEGER: two's complement. */
  readonly serialNumber: Uint8Array
  /** DER of the names. */
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  readonly issuerParts: NameParts
  readonly subjectParts: NameParts
  /** DER of each GeneralName. */
  readonly issuerAlternativeNames: readonly Uint8Array[]
  readonly subjectAlternativeNames: readonly Uint8Array[]
  readonly spki: Uint8Array
}

const what = 'The certificate'
const subjectAlternativeName = '2.5.29.17'
const issuerAlternativeName = '2.5.29.18'

/** Reads an X.509 certificate (RFC 5280 §4.1), DER. @throws PkiError */
export function readCertificate(der: Uint8Array): CertificateFields {
  parseWithOpenssl(der)
  const [body, signature] = derMembers(der, what)
  const members = [...derMembers(body?.whole ?? new Uint8Array(), what)]
  if (members[0]?.tag === contextTag(0)) members.shift()
  const [serial, , issuer, , subject, spki] = members
  const extensions = members.find(({ tag }) => tag === contextTag(3))
  const issuerName = requireSequence(issuer)
  const subjectName = requireSequence(subject)
  const names = alternativeNames(extensions)
  return {
    signatureAlgorithm: readAlgorithm(signature),
    serialNumber: derContent(serial, derTag.integer, what),
    issuer: issuerName,
    subject: subjectName,
    issuerParts: readNameParts(issuerName),
    subjectParts: readNameParts(subjectName),
    issuerAlternativeNames: names.get(issuerAlternativeName) ?? [],
    subjectAlternativeNames: names.get(subjectAlternativeName) ?? [],
    spki: requireSequence(spki),
  }
}

/** Parses the certificate with OpenSSL, for the verification of its signature. @throws PkiError */
export function parseWithOpenssl(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(Buffer.from(der.buffer, der.byteOffset, der.byteLength))
  } catch {
    throw pkiError('malformed', 'The value is not an X.509 certificate in DER.')
  }
}

function readAlgorithm(element: DerElement | undefined): string {
  const [identifier] = derMembers(requireSequence(element), what)
  return derIdentifier(identifier, what)
}

function requireSequence(element: DerElement | undefined): Uint8Array {
  if (element?.tag !== derTag.sequence) throw pkiError('malformed', `${what} lacks a member.`)
  return element.whole
}

function alternativeNames(extensions: DerElement | undefined): ReadonlyMap<string, readonly Uint8Array[]> {
  const found = new Map<string, readonly Uint8Array[]>()
  if (extensions === undefined) return found
  for (const extension of derMembers(extensions.content, what)) {
    const members = derMembers(extension.whole, what)
    const identifier = derIdentifier(members[0], what)
    if (identifier !== subjectAlternativeName && identifier !== issuerAlternativeName) continue
    const value = derContent(members.at(-1), derTag.octetString, what)
    const names = derElements(derContent(derElements(value, what)[0], derTag.sequence, what), what)
    found.set(
      identifier,
      names.map(({ whole }) => whole),
    )
  }
  return found
}
