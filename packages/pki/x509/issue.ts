import { type KeyObject, randomBytes } from 'node:crypto'
import { contextTag, der, derBitString, derInteger, derNumber, derSequence } from '../asn1/der.ts'
import {
  authorityKeyIdentifier,
  type Extension,
  encodeExtension,
  extensionIdentifiers,
  keyIdentifierOf,
  subjectKeyIdentifier,
} from './extensions.ts'
import { certificateSigner } from './signing.ts'

export interface NewCertificate {
  /** DER of the name. */
  readonly subject: Uint8Array
  readonly spki: Uint8Array
  /** Unix milliseconds; whole seconds are kept. */
  readonly notBefore: number
  readonly notAfter: number
  /** Without key identifiers: they are made here. */
  readonly extensions: readonly Extension[]
}

export interface Issuer {
  /** DER of the name. */
  readonly name: Uint8Array
  readonly key: KeyObject
  readonly spki: Uint8Array
  /** As its certificate has it; computed when it has none. */
  readonly keyIdentifier: Uint8Array | undefined
}

/** Signs an X.509 certificate of version 3 (RFC 5280 §4.1). @returns DER */
export async function issueCertificate(wanted: NewCertificate, issuer: Issuer): Promise<Buffer> {
  const signer = certificateSigner(issuer.key, issuer.spki)
  const own = keyIdentifierOf(wanted.spki)
  const extensions = [
    ...wanted.extensions.filter(({ identifier }) => !keyIdentifiers.has(identifier)),
    subjectKeyIdentifier(own),
    authorityKeyIdentifier(issuer.keyIdentifier ?? keyIdentifierOf(issuer.spki)),
  ]
  const body = derSequence(
    der(contextTag(0), derNumber(2)),
    derInteger(serialNumber()),
    signer.algorithm,
    issuer.name,
    derSequence(time(wanted.notBefore), time(wanted.notAfter)),
    wanted.subject,
    wanted.spki,
    der(contextTag(3), derSequence(...extensions.map(encodeExtension))),
  )
  return derSequence(body, signer.algorithm, derBitString(await signer.sign(body)))
}

const keyIdentifiers: ReadonlySet<string> = new Set([
  extensionIdentifiers.subjectKeyIdentifier,
  extensionIdentifiers.authorityKeyIdentifier,
])

/** Random, positive, 16 bytes: unique without a counter (RFC 5280 §4.1.2.2; CA/B Forum asks for 64 random bits). */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

/** RFC 5280 §4.1.2.5: two digits of the year until 2049, four from then on. */
function time(at: number): Buffer {
  const text = new Date(at).toISOString()
  const digits = text.slice(0, 19).replaceAll(/[-:T]/g, '')
  const year = Number(digits.slice(0, 4))
  return year >= 1950 && year < 2050
    ? der(0x17, Buffer.from(`${digits.slice(2)}Z`, 'latin1'))
    : der(0x18, Buffer.from(`${digits}Z`, 'latin1'))
}
