import { type KeyObject, X509Certificate } from 'node:crypto'
import {
  contextTag,
  type DerElement,
  der,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { readTime } from '../time.ts'
import { type NameParts, readNameParts } from './distinguished-name.ts'
import { type Extension, readExtensions } from './extensions.ts'
import { publicKeyFromSpki, readSigned, type Signed } from './signing.ts'

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
function parseWithOpenssl(der: Uint8Array): X509Certificate {
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

/** All fields of an X.509 certificate (RFC 5280 §4.1). */
export interface ParsedCertificate {
  readonly der: Uint8Array
  readonly signed: Signed
  /** 1, 2 or 3. */
  readonly version: number
  /** The content of the INTEGER: two's complement. */
  readonly serial: Uint8Array
  /** DER of the names. */
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  /** Unix milliseconds. */
  readonly notBefore: number
  readonly notAfter: number
  readonly spki: Uint8Array
  readonly key: KeyObject
  readonly extensions: readonly Extension[]
}

/** Reads a certificate that OpenSSL can read, too, without verifying its signature. @throws PkiError */
export function parseCertificate(der: Uint8Array): ParsedCertificate {
  parseWithOpenssl(der)
  return parseCertificateFields(der)
}

/** Reads a certificate before it is signed, without OpenSSL. @throws PkiError */
export function parseCertificateFields(der: Uint8Array): ParsedCertificate {
  const signed = readSigned(der, what)
  const members = [...derMembers(signed.data, what)]
  const versionMember = members[0]?.tag === contextTag(0) ? members.shift() : undefined
  const version =
    versionMember === undefined
      ? 1
      : derSmallNumber(derMembers(versionMember.whole, what, contextTag(0))[0], what) + 1
  const [serial, algorithm, issuer, validity, subject, spki, ...optional] = members
  if (version > 3) throw pkiError('malformed', `${what} is of an unknown version.`)
  // RFC 5280 §4.1.1.2
  if (algorithm === undefined || !Buffer.from(algorithm.whole).equals(signed.algorithm))
    throw pkiError('malformed', `${what} names two different algorithms.`)
  if (issuer?.tag !== derTag.sequence || subject?.tag !== derTag.sequence || spki?.tag !== derTag.sequence)
    throw pkiError('malformed', `${what} lacks a member.`)
  const [notBefore, notAfter] = derMembers(validity?.whole ?? new Uint8Array(), what)
  const extensions = optional.find(({ tag }) => tag === contextTag(3))
  return {
    der,
    signed,
    version,
    serial: derContent(serial, derTag.integer, what),
    issuer: issuer.whole,
    subject: subject.whole,
    notBefore: readTime(notBefore, what),
    notAfter: readTime(notAfter, what),
    spki: spki.whole,
    key: publicKeyFromSpki(spki.whole),
    extensions: extensions === undefined ? [] : readExtensions(extensions.content, what),
  }
}

const signedData = '1.2.840.113549.1.7.2'
const data = '1.2.840.113549.1.7.1'

/** Encodes an unsigned PKCS#7 SignedData that contains only certificates (RFC 2315 §9.1). @returns DER */
export function certificatesOnly(certificates: readonly Uint8Array[]): Buffer {
  const nothing = der(derTag.set)
  const content = derSequence(
    derNumber(1),
    nothing,
    derSequence(derObjectIdentifier(data)),
    der(contextTag(0), ...certificates),
    nothing,
  )
  return derSequence(derObjectIdentifier(signedData), der(contextTag(0), content))
}
