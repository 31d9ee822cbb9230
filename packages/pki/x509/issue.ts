import { type KeyObject, randomBytes } from 'node:crypto'
import { contextTag, der, derInteger, derNumber, derSequence } from '../der.ts'
import { pkiError } from '../error.ts'
import { derTime } from '../time.ts'
import {
  authorityKeyIdentifier,
  computeKeyIdentifier,
  type Extension,
  encodeExtension,
  extensionIdentifiers,
  subjectKeyIdentifier,
} from './extensions.ts'
import { type CertificateSigner, selectSigner, writeSigned } from './signing.ts'

export interface NewCertificate {
  /** DER of the name. */
  readonly subject: Uint8Array
  readonly spki: Uint8Array
  /** Unix milliseconds; whole seconds are kept. */
  readonly notBefore: number
  readonly notAfter: number
  /** Without key identifiers, which are added here. */
  readonly extensions: readonly Extension[]
  /** The magnitude of the serial number, 1 to 20 bytes; default: random. */
  readonly serial?: Uint8Array
}

export interface Issuer {
  /** DER of the name. */
  readonly name: Uint8Array
  /** A local key, or a function that signs with an external key. */
  readonly key: KeyObject | CertificateSigner
  readonly spki: Uint8Array
  /** Key identifier from its certificate; computed when it has none. */
  readonly keyIdentifier: Uint8Array | undefined
}

/** Signs an X.509 certificate of version 3 (RFC 5280 §4.1). @returns DER */
export async function issueCertificate(wanted: NewCertificate, issuer: Issuer): Promise<Buffer> {
  const signer = selectSigner(issuer)
  const own = computeKeyIdentifier(wanted.spki)
  const extensions = [
    ...wanted.extensions.filter(({ identifier }) => !keyIdentifiers.has(identifier)),
    subjectKeyIdentifier(own),
    authorityKeyIdentifier(issuer.keyIdentifier ?? computeKeyIdentifier(issuer.spki)),
  ]
  const body = derSequence(
    der(contextTag(0), derNumber(2)),
    derInteger(positiveSerial(wanted.serial ?? randomSerial())),
    signer.algorithm,
    issuer.name,
    derSequence(derTime(wanted.notBefore), derTime(wanted.notAfter)),
    wanted.subject,
    wanted.spki,
    der(contextTag(3), derSequence(...extensions.map(encodeExtension))),
  )
  return writeSigned(body, signer)
}

const keyIdentifiers: ReadonlySet<string> = new Set([
  extensionIdentifiers.subjectKeyIdentifier,
  extensionIdentifiers.authorityKeyIdentifier,
])

/**
 * Generates a random positive number of 16 bytes: unique without a counter (RFC 5280 §4.1.2.2; CA/B Forum requires 64
 * random bits).
 */
export function randomSerial(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

/** RFC 5280 §4.1.2.2: positive, and with its sign at most 20 bytes. */
function positiveSerial(serial: Uint8Array): Uint8Array {
  const tooLong = serial.length > 20 || (serial.length === 20 && (serial[0] ?? 0) >= 0x80)
  if (tooLong || serial.every((byte) => byte === 0))
    throw pkiError('invalid_value', 'A serial number must be positive and have at most 20 bytes.')
  return serial
}
