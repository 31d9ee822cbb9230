import { X509Certificate } from 'node:crypto'
import { Enumeration, Tag, type TagName, type ValueName } from '@warder/kmip/tables'
import { byteString, enumeration, integer, structure, type TtlvNode, textString } from '@warder/kmip/ttlv'
import { kmipFailure } from '../../kms/kmip/engine/failure.ts'
import { readHalf } from '../../kms/kmip/keys/asymmetric.ts'
import type { StoredShape } from '../../kms/kmip/keys/stored-shape.ts'
import {
  contextTag,
  type DerElement,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derTag,
} from '../asn1/der.ts'
import { type NameParts, namePartsOf } from './distinguished-name.ts'

/** What the attributes of an X.509 certificate are made of. */
export interface CertificateFacts {
  /** Bytes of the certificate. */
  readonly length: number
  /** The name in KMIP's table; undefined when it has none (Ed25519, ML-DSA). */
  readonly signatureAlgorithm: ValueName<'DigitalSignatureAlgorithm'> | undefined
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
  /** Of the public key; undefined when it is of a kind that is not known here. */
  readonly key: Pick<StoredShape, 'algorithm' | 'bits' | 'curve'> | undefined
}

const signatureAlgorithms: ReadonlyMap<string, ValueName<'DigitalSignatureAlgorithm'>> = new Map([
  ['1.2.840.113549.1.1.2', 'MD2WithRSAEncryption'],
  ['1.2.840.113549.1.1.4', 'MD5WithRSAEncryption'],
  ['1.2.840.113549.1.1.5', 'SHA_1WithRSAEncryption'],
  ['1.2.840.113549.1.1.14', 'SHA_224WithRSAEncryption'],
  ['1.2.840.113549.1.1.11', 'SHA_256WithRSAEncryption'],
  ['1.2.840.113549.1.1.12', 'SHA_384WithRSAEncryption'],
  ['1.2.840.113549.1.1.13', 'SHA_512WithRSAEncryption'],
  ['1.2.840.113549.1.1.10', 'RSASSA_PSS'],
  ['1.2.840.10040.4.3', 'DSAWithSHA_1'],
  ['2.16.840.1.101.3.4.3.1', 'DSAWithSHA224'],
  ['2.16.840.1.101.3.4.3.2', 'DSAWithSHA256'],
  ['1.2.840.10045.4.1', 'ECDSAWithSHA_1'],
  ['1.2.840.10045.4.3.1', 'ECDSAWithSHA224'],
  ['1.2.840.10045.4.3.2', 'ECDSAWithSHA256'],
  ['1.2.840.10045.4.3.3', 'ECDSAWithSHA384'],
  ['1.2.840.10045.4.3.4', 'ECDSAWithSHA512'],
  ['2.16.840.1.101.3.4.3.14', 'SHA3_256WithRSAEncryption'],
  ['2.16.840.1.101.3.4.3.15', 'SHA3_384WithRSAEncryption'],
  ['2.16.840.1.101.3.4.3.16', 'SHA3_512WithRSAEncryption'],
])

const what = 'The certificate'
const subjectAlternativeName = '2.5.29.17'
const issuerAlternativeName = '2.5.29.18'

/** Reads an X.509 certificate (RFC 5280 §4.1), DER. @throws InvalidField */
export function certificateFacts(der: Uint8Array): CertificateFacts {
  requireReadable(der)
  const [body, signature] = derMembers(der, what)
  const members = [...derMembers(body?.whole ?? new Uint8Array(), what)]
  if (members[0]?.tag === contextTag(0)) members.shift()
  const [serial, , issuer, , subject, spki] = members
  const extensions = members.find(({ tag }) => tag === contextTag(3))
  const issuerName = wholeOf(issuer)
  const subjectName = wholeOf(subject)
  const publicKey = wholeOf(spki)
  const names = alternativeNames(extensions)
  return {
    length: der.length,
    signatureAlgorithm: signatureAlgorithms.get(algorithmOf(signature)),
    serialNumber: derContent(serial, derTag.integer, what),
    issuer: issuerName,
    subject: subjectName,
    issuerParts: namePartsOf(issuerName),
    subjectParts: namePartsOf(subjectName),
    issuerAlternativeNames: names.get(issuerAlternativeName) ?? [],
    subjectAlternativeNames: names.get(subjectAlternativeName) ?? [],
    spki: publicKey,
    key: publicKeyFacts(publicKey),
  }
}

/** The library that checks chains must be able to read it too. */
function requireReadable(der: Uint8Array): void {
  try {
    new X509Certificate(Buffer.from(der.buffer, der.byteOffset, der.byteLength))
  } catch {
    throw kmipFailure('InvalidField', 'The value is not an X.509 certificate in DER.')
  }
}

function algorithmOf(element: DerElement | undefined): string {
  const [identifier] = derMembers(wholeOf(element), what)
  return derIdentifier(identifier, what)
}

function wholeOf(element: DerElement | undefined): Uint8Array {
  if (element?.tag !== derTag.sequence) throw kmipFailure('InvalidField', `${what} lacks a member.`)
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

/** What a SubjectPublicKeyInfo holds, whatever the policy says of such keys: the certificate may be there to check what is old. */
export function publicKeyFacts(spki: Uint8Array): CertificateFacts['key'] {
  const hints = { algorithm: undefined, curve: undefined }
  try {
    const parsed = readHalf('PublicKey', 'X_509', byteString(Tag.KeyMaterial, spki), hints, { fips: false })
    if (parsed === undefined) return undefined
    const { algorithm, bits, curve } = parsed
    return { algorithm, bits, ...(curve !== undefined && { curve }) }
  } catch {
    return undefined
  }
}

/** The attributes that the server gives a certificate (KMIP 2.1 §4.7, §4.8, §4.61 to §4.63), in the order of the standard. */
export function certificateAttributes(facts: CertificateFacts): readonly TtlvNode[] {
  const { signatureAlgorithm } = facts
  return [
    integer(Tag.CertificateLength, facts.length),
    structure(Tag.X_509CertificateIdentifier, [
      byteString(Tag.IssuerDistinguishedName, facts.issuer),
      byteString(Tag.CertificateSerialNumber, facts.serialNumber),
    ]),
    structure(Tag.X_509CertificateSubject, [
      byteString(Tag.SubjectDistinguishedName, facts.subject),
      ...facts.subjectAlternativeNames.map((name) => byteString(Tag.SubjectAlternativeName, name)),
    ]),
    structure(Tag.X_509CertificateIssuer, [
      byteString(Tag.IssuerDistinguishedName, facts.issuer),
      ...facts.issuerAlternativeNames.map((name) => byteString(Tag.IssuerAlternativeName, name)),
    ]),
    ...(signatureAlgorithm === undefined
      ? []
      : [
          enumeration(
            Tag.DigitalSignatureAlgorithm,
            Enumeration.DigitalSignatureAlgorithm[signatureAlgorithm],
          ),
        ]),
    ...nameAttributes('Subject', facts.subjectParts),
    ...nameAttributes('Issuer', facts.issuerParts),
  ]
}

function nameAttributes(whose: 'Subject' | 'Issuer', parts: NameParts): readonly TtlvNode[] {
  return parts.map(([part, value]) => textString(Tag[`Certificate${whose}${part}` satisfies TagName], value))
}
