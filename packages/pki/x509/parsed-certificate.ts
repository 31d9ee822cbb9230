import type { KeyObject } from 'node:crypto'
import { contextTag, derContent, derMembers, derSmallNumber, derTag } from '../asn1/der.ts'
import { readTime } from '../asn1/time.ts'
import { pkiError } from '../error.ts'
import { parseWithOpenssl } from './certificate.ts'
import { type Extension, readExtensions } from './extensions.ts'
import { publicKeyFromSpki, readSigned } from './signed.ts'
import type { Signed } from './signing.ts'

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

const what = 'The certificate'

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
