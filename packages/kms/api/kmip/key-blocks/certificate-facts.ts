import { Enumeration, Tag, type TagName, type ValueName } from '@warder/kmip/tables'
import { byteString, enumeration, integer, structure, type TtlvNode, textString } from '@warder/kmip/ttlv'
import { publicFromSpki, requireLoadable } from '@warder/pki/keys'
import { type CertificateFields, type NameParts, readCertificate } from '@warder/pki/x509'
import { withKmipReasons } from '../failure/failure.ts'
import { inKmipNames } from './algorithm-names.ts'
import type { StoredShape } from './stored-shape.ts'

/** The values of the attributes of an X.509 certificate. */
export interface CertificateFacts extends Omit<CertificateFields, 'signatureAlgorithm'> {
  /** Bytes of the certificate. */
  readonly length: number
  /** The name in KMIP's table; undefined when it has none (Ed25519, ML-DSA). */
  readonly signatureAlgorithm: ValueName<'DigitalSignatureAlgorithm'> | undefined
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

/** Reads an X.509 certificate (RFC 5280 §4.1), DER. @throws kmipFailure InvalidField */
export function certificateFacts(der: Uint8Array): CertificateFacts {
  const fields = withKmipReasons(() => readCertificate(der))
  return {
    ...fields,
    length: der.length,
    signatureAlgorithm: signatureAlgorithms.get(fields.signatureAlgorithm),
    key: publicKeyFacts(fields.spki),
  }
}

/**
 * Reads a SubjectPublicKeyInfo, whatever the policy says of such keys: the certificate may be there to check what is
 * old.
 */
export function publicKeyFacts(spki: Uint8Array): CertificateFacts['key'] {
  try {
    const read = publicFromSpki(spki, { fips: false })
    requireLoadable('PublicKey', read)
    const { algorithm, bits, curve } = inKmipNames(read)
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
