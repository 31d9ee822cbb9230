import { createHash } from 'node:crypto'
import {
  type DerElement,
  der,
  derBits,
  derContent,
  derIdentifier,
  derMembers,
  derNull,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derTag,
} from '../../der.ts'
import { pkiError } from '../../error.ts'

/** Hashes that identify an issuer. SHA-1 is an identifier here, not a protection (RFC 5019 §2.1.1 requires it). */
export const certIdHashes = ['sha1', 'sha256', 'sha384', 'sha512'] as const
export type CertIdHash = (typeof certIdHashes)[number]

const identifiers: Readonly<Record<CertIdHash, string>> = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
}
const hashBytes: Readonly<Record<CertIdHash, number>> = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 }

/** The identifier of a certificate in OCSP (RFC 6960 §4.1.1). */
export interface CertId {
  /** The encoding in the request, which a response repeats. */
  readonly der: Uint8Array
  /** Undefined for an unknown hash, which matches no issuer. */
  readonly hash: CertIdHash | undefined
  readonly issuerNameHash: Uint8Array
  readonly issuerKeyHash: Uint8Array
  /** The content of the INTEGER, as in certificates. */
  readonly serial: Uint8Array
}

/** An issuer: DER of its name and of its public key. */
interface CertIdIssuer {
  readonly name: Uint8Array
  readonly spki: Uint8Array
}

/** @throws PkiError */
export function readCertId(element: DerElement | undefined, what: string): CertId {
  const whole = element?.whole ?? new Uint8Array()
  const [algorithm, nameHash, keyHash, serial, another] = derMembers(whole, what)
  if (another !== undefined) throw pkiError('malformed', `${what} has a CertID with too many members.`)
  const [identifier] = derMembers(algorithm?.whole ?? new Uint8Array(), what)
  const dotted = derIdentifier(identifier, what)
  const hash = certIdHashes.find((name) => identifiers[name] === dotted)
  const issuerNameHash = derContent(nameHash, derTag.octetString, what)
  const issuerKeyHash = derContent(keyHash, derTag.octetString, what)
  const content = derContent(serial, derTag.integer, what)
  if (content.length === 0) throw pkiError('malformed', `${what} has an invalid serial number.`)
  if (hash !== undefined && [issuerNameHash, issuerKeyHash].some(({ length }) => length !== hashBytes[hash]))
    throw pkiError('malformed', `${what} has a hash with the wrong length for its algorithm.`)
  return { der: whole, hash, issuerNameHash, issuerKeyHash, serial: content }
}

/** Creates the identifier of a certificate. @param serial the content of the INTEGER */
export function createCertId(hash: CertIdHash, issuer: CertIdIssuer, serial: Uint8Array): CertId {
  const { issuerNameHash, issuerKeyHash } = issuerHashes(hash, issuer)
  const whole = derSequence(
    derSequence(derObjectIdentifier(identifiers[hash]), derNull),
    derOctets(issuerNameHash),
    derOctets(issuerKeyHash),
    der(derTag.integer, serial),
  )
  return { der: whole, hash, issuerNameHash, issuerKeyHash, serial }
}

function issuerHashes(hash: CertIdHash, { name, spki }: CertIdIssuer) {
  const [, key] = derMembers(spki, 'The public key')
  return {
    issuerNameHash: createHash(hash).update(name).digest(),
    issuerKeyHash: createHash(hash).update(derBits(key, 'The public key')).digest(),
  }
}

/** Whether the identified certificate is from this issuer. */
export function isFromIssuer(certId: CertId, issuer: CertIdIssuer): boolean {
  return certId.hash !== undefined && findIssuerKey(certId) === toIssuerKey(certId.hash, issuer)
}

/** Returns the key of the issuer of a CertID in a map of issuers; undefined when no issuer can match. */
export function findIssuerKey({ hash, issuerNameHash, issuerKeyHash }: CertId): string | undefined {
  if (hash === undefined) return undefined
  const hex = (bytes: Uint8Array) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
  return `${hash}:${hex(issuerNameHash)}:${hex(issuerKeyHash)}`
}

/** Lists the keys of an issuer in a map of issuers, one per hash. */
export function listIssuerKeys(issuer: CertIdIssuer): readonly string[] {
  return certIdHashes.map((hash) => toIssuerKey(hash, issuer))
}

function toIssuerKey(hash: CertIdHash, issuer: CertIdIssuer): string {
  const { issuerNameHash, issuerKeyHash } = issuerHashes(hash, issuer)
  return `${hash}:${issuerNameHash.toString('hex')}:${issuerKeyHash.toString('hex')}`
}
