import { createHash } from 'node:crypto'
import {
  type CertificateFields,
  type NameParts,
  type ParsedKey,
  publicFromSpki,
  requireLoadable,
} from '@warder/pki'
import type { AttributeName, StoredValue } from './attribute-table.ts'
import { type AlgorithmName, type CurveName, kmipKeyKind } from './key-names.ts'
import { toStoredValue } from './object-attributes.ts'

/** The names of signature algorithms by their object identifiers (KMIP 2.1 §11.12). Others have none (Ed25519, ML-DSA). */
const signatureAlgorithms: ReadonlyMap<string, string> = new Map([
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

/** Algorithm of a public key, in the names of KMIP. */
export interface PublicKeyKind {
  readonly algorithm: AlgorithmName
  readonly bits: number
  readonly curve?: CurveName
}

/**
 * Parses a SubjectPublicKeyInfo, regardless of the policy for such keys: the certificate may be needed to verify old
 * signatures.
 * @returns undefined for an unknown kind of key
 */
export function publicKeyKind(spki: Uint8Array): PublicKeyKind | undefined {
  let key: ParsedKey
  try {
    key = publicFromSpki(spki, { fips: false })
    requireLoadable('PublicKey', key)
  } catch {
    return undefined
  }
  return { ...kmipKeyKind(key), bits: key.bits }
}

/**
 * The attributes that the server sets for an X.509 certificate (KMIP 2.1 §4.7, §4.8, §4.61 to §4.63), in the order of
 * the standard.
 */
export function certificateAttributes(fields: CertificateFields, der: Uint8Array): readonly StoredValue[] {
  const signatureAlgorithm = signatureAlgorithms.get(fields.signatureAlgorithm)
  return [
    toStoredValue('CertificateLength', der.length),
    toStoredValue('X_509CertificateIdentifier', [
      byteString('IssuerDistinguishedName', fields.issuer),
      byteString('CertificateSerialNumber', fields.serialNumber),
    ]),
    toStoredValue('X_509CertificateSubject', [
      byteString('SubjectDistinguishedName', fields.subject),
      ...fields.subjectAlternativeNames.map((name) => byteString('SubjectAlternativeName', name)),
    ]),
    toStoredValue('X_509CertificateIssuer', [
      byteString('IssuerDistinguishedName', fields.issuer),
      ...fields.issuerAlternativeNames.map((name) => byteString('IssuerAlternativeName', name)),
    ]),
    ...(signatureAlgorithm === undefined
      ? []
      : [toStoredValue('DigitalSignatureAlgorithm', signatureAlgorithm)]),
    ...nameAttributes('Subject', fields.subjectParts),
    ...nameAttributes('Issuer', fields.issuerParts),
  ]
}

function nameAttributes(of: 'Subject' | 'Issuer', parts: NameParts): readonly StoredValue[] {
  return parts.map(([part, value]) => toStoredValue(`Certificate${of}${part}` satisfies AttributeName, value))
}

/** The Digest attribute of bytes in a format (KMIP 2.1 §4.20): SHA-256. @param format `X_509`, `PKCS_8` … */
export function digestAttribute(bytes: Uint8Array, format: string): StoredValue {
  return toStoredValue('Digest', [
    { tag: 'HashingAlgorithm', type: 'Enumeration', value: 'SHA_256' },
    byteString('DigestValue', createHash('sha256').update(bytes).digest()),
    { tag: 'KeyFormatType', type: 'Enumeration', value: format },
  ])
}

function byteString(tag: string, bytes: Uint8Array): StoredValue {
  return { tag, type: 'ByteString', value: Buffer.from(bytes).toString('hex').toUpperCase() }
}
