import type { KeyObject } from 'node:crypto'
import {
  contextTag,
  der,
  derBits,
  derElements,
  derIdentifier,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derSequence,
  derTag,
} from '../der.ts'
import { PkiError, pkiError } from '../error.ts'
import { isDer } from '../pem.ts'
import { type Extension, encodeExtension, readExtensions } from './extensions.ts'
import { type CertificateSigner, publicKeyFromSpki, signatureHolds, writeSigned } from './signing.ts'

/** A certification request. */
interface CertificationRequest {
  /** DER of the name. */
  readonly subject: Uint8Array
  readonly spki: Uint8Array
  readonly key: KeyObject
  /** The requested extensions; the issuer decides which of them it grants. */
  readonly extensions: readonly Extension[]
}

const what = 'The certificate request'
const extensionRequest = '1.2.840.113549.1.9.14'

/**
 * Reads a PKCS#10 request (RFC 2986), DER or PEM, and verifies that the requester has the private key.
 * @throws PkiError `invalid_request`
 */
export function readCertificationRequest(value: Uint8Array): CertificationRequest {
  try {
    return read(isPem(value) ? fromPem(value) : value)
  } catch (error) {
    throw error instanceof PkiError ? pkiError('invalid_request', error.message) : error
  }
}

function read(der: Uint8Array): CertificationRequest {
  const [info, algorithm, signature] = derMembers(der, what)
  if (info === undefined || algorithm === undefined)
    throw pkiError('invalid_request', 'The certificate request lacks a member.')
  const [, subject, spki, attributes] = derMembers(info.whole, what)
  if (subject?.tag !== derTag.sequence || spki?.tag !== derTag.sequence)
    throw pkiError('invalid_request', 'The certificate request lacks a member.')
  const key = publicKey(spki.whole)
  if (!signatureHolds(algorithm.whole, key, info.whole, derBits(signature, what)))
    throw pkiError('invalid_request', 'The signature of the certificate request is wrong.')
  return {
    subject: subject.whole,
    spki: spki.whole,
    key,
    extensions: attributes?.tag === contextTag(0) ? readRequestedExtensions(attributes.content) : [],
  }
}

function readRequestedExtensions(attributes: Uint8Array): readonly Extension[] {
  for (const attribute of derElements(attributes, what)) {
    const [identifier, values] = derMembers(attribute.whole, what)
    if (derIdentifier(identifier, what) !== extensionRequest) continue
    const [extensions] = derElements(values?.content ?? new Uint8Array(), what)
    return readExtensions(extensions?.whole ?? new Uint8Array(), what)
  }
  return []
}

function publicKey(spki: Uint8Array): KeyObject {
  try {
    return publicKeyFromSpki(spki)
  } catch {
    throw pkiError('invalid_request', 'The public key of the certificate request cannot be read.')
  }
}

function isPem(value: Uint8Array): boolean {
  return !isDer(value) && Buffer.from(value.subarray(0, maxPemLength)).includes('-----BEGIN ')
}

const maxPemLength = 65_536
const pem =
  /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----/

function fromPem(value: Uint8Array): Buffer {
  const text = value.length > maxPemLength ? '' : Buffer.from(value).toString('latin1')
  const body = pem.exec(text)?.[1]
  if (body === undefined) throw pkiError('invalid_request', 'The value is not a certificate request in PEM.')
  return Buffer.from(body, 'base64')
}

/**
 * Signs a certificate request (PKCS#10, RFC 2986).
 * @param subject DER of the name
 * @param extensions the requested extensions
 * @returns DER
 */
export function issueRequest(
  {
    subject,
    spki,
    extensions,
  }: {
    readonly subject: Uint8Array
    readonly spki: Uint8Array
    readonly extensions: readonly Extension[]
  },
  signer: CertificateSigner,
): Promise<Buffer> {
  const attributes =
    extensions.length === 0
      ? []
      : [
          derSequence(
            derObjectIdentifier(extensionRequest),
            der(derTag.set, derSequence(...extensions.map(encodeExtension))),
          ),
        ]
  return writeSigned(derSequence(derNumber(0), subject, spki, der(contextTag(0), ...attributes)), signer)
}
