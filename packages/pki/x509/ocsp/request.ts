import {
  contextTag,
  type DerElement,
  der,
  derContent,
  derElements,
  derMembers,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from '../../der.ts'
import { pkiError } from '../../error.ts'
import { type Extension, encodeExtension, readExtensions } from '../extensions.ts'
import { type CertId, readCertId } from './cert-id.ts'

/** Maximum bytes of a request: one certificate takes about 100, a signed request includes certificates. */
export const maxOcspRequestBytes = 65_536
/** Maximum number of certificates in a request. */
export const maxCertIds = 32

/** A request for the status of certificates (RFC 6960 §4.1). */
export interface OcspRequest {
  readonly certIds: readonly CertId[]
  /** 1 to 32 bytes (RFC 8954). */
  readonly nonce: Uint8Array | undefined
  /** Whether it is signed. The signature is ignored: all clients get the same responses. */
  readonly signed: boolean
}

const what = 'The OCSP request'

/** Reads a request, DER. @throws PkiError; the response is then `malformedRequest` */
export function readOcspRequest(bytes: Uint8Array): OcspRequest {
  if (bytes.length > maxOcspRequestBytes) throw decodeError('is too long')
  const [request, signature, another] = derMembers(bytes, what)
  if (another !== undefined || (signature !== undefined && signature.tag !== contextTag(0)))
    throw decodeError('has too many members')
  const members = [...derMembers(request?.whole ?? new Uint8Array(), what)]
  if (members[0]?.tag === contextTag(0)) {
    const [version] = derElements(members.shift()?.content ?? new Uint8Array(), what)
    if (derSmallNumber(version, what) !== 0) throw decodeError('is of an unknown version')
  }
  if (members[0]?.tag === contextTag(1)) members.shift()
  const list = derElements(derContent(members.shift(), derTag.sequence, what), what)
  const extensions = members[0]?.tag === contextTag(2) ? members.shift() : undefined
  if (members.length > 0) throw decodeError('has too many members')
  if (list.length === 0 || list.length > maxCertIds)
    throw decodeError(`contains no CertID, or more than ${maxCertIds}`)
  return {
    certIds: list.map(single),
    nonce: extensions === undefined ? undefined : nonceIn(readExtensions(extensions.content, what), what),
    signed: signature !== undefined,
  }
}

function single(element: DerElement): CertId {
  const [certId, extensions, another] = derMembers(element.whole, what)
  if (another !== undefined || (extensions !== undefined && extensions.tag !== contextTag(0)))
    throw decodeError('has a CertID with too many members')
  if (extensions !== undefined) requireKnown(readExtensions(extensions.content, what), what)
  return readCertId(certId, what)
}

/** Creates a request for the status of certificates. @returns DER */
export function ocspRequest(certIds: readonly CertId[], nonce?: Uint8Array): Buffer {
  const list = derSequence(...certIds.map(({ der: certId }) => derSequence(certId)))
  const extensions =
    nonce === undefined ? [] : [der(contextTag(2), derSequence(encodeExtension(nonceExtension(nonce))))]
  return derSequence(derSequence(list, ...extensions))
}

/**
 * Escapes that clients use for characters other than letters and digits; a blank is a plus sign that was decoded as
 * in a form.
 */
const forms: Readonly<Record<string, string>> = {
  '%2B': '+',
  '-': '+',
  '%20': '+',
  ' ': '+',
  '%2F': '/',
  _: '/',
  '%3D': '=',
}

const maxTextLength = Math.ceil(maxOcspRequestBytes / 3) * 4 * 3

/**
 * Reads the request in the path of a GET (RFC 6960 §A.1): base64, with or without escapes. Clients leave `/` and `+`
 * unescaped, escape them, use the URL alphabet or omit the padding; a proxy may have decoded them.
 * @throws PkiError for invalid base64
 */
export function ocspRequestFromPath(path: string): Buffer {
  if (path.length > maxTextLength) throw decodeError('is too long')
  const text = path.replaceAll(/%2[BbFf0]|%3[Dd]|[-_ ]/g, (form) => forms[form.toUpperCase()] ?? form)
  const unpadded = text.replace(/={1,2}$/, '')
  if (!/^[A-Za-z0-9+/]+$/.test(unpadded) || unpadded.length % 4 === 1)
    throw decodeError('is not base64 in the path')
  return Buffer.from(unpadded, 'base64')
}

function decodeError(problem: string) {
  return pkiError('malformed', `${what} ${problem}.`)
}

const nonceIdentifier = '1.3.6.1.5.5.7.48.1.2'
/** RFC 8954 §2.1 */
const maxNonceBytes = 32

/** @param nonce 1 to 32 bytes @throws PkiError */
export function nonceExtension(nonce: Uint8Array): Extension {
  if (nonce.length === 0 || nonce.length > maxNonceBytes)
    throw pkiError('invalid_value', 'A nonce must have 1 to 32 bytes.')
  return { identifier: nonceIdentifier, critical: false, value: derOctets(nonce) }
}

/**
 * The nonce, if there is one.
 * @throws PkiError for one that is empty or longer than 32 bytes (RFC 8954 §2.1), and for unknown critical
 *   extensions
 */
export function nonceIn(extensions: readonly Extension[], what: string): Uint8Array | undefined {
  requireKnown(extensions, what)
  const found = extensions.find(({ identifier }) => identifier === nonceIdentifier)
  if (found === undefined) return undefined
  const [nonce, another] = derElements(found.value, what)
  if (nonce?.tag !== derTag.octetString || another !== undefined)
    throw pkiError('malformed', `${what} has a nonce that is not an OCTET STRING.`)
  if (nonce.content.length === 0 || nonce.content.length > maxNonceBytes)
    throw pkiError('malformed', `${what} has a nonce that does not have 1 to 32 bytes.`)
  return nonce.content
}

/** RFC 6960 §4.4: a message with an unknown critical extension must not be used. @throws PkiError */
export function requireKnown(extensions: readonly Extension[], what: string): void {
  if (extensions.some(({ critical, identifier }) => critical && identifier !== nonceIdentifier))
    throw pkiError('malformed', `${what} has an unknown critical extension.`)
}
