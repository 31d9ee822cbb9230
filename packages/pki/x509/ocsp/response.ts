import {
  contextTag,
  type DerElement,
  der,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from '../../der.ts'
import { pkiError } from '../../error.ts'
import { derGeneralizedTime, readGeneralizedTime } from '../../time.ts'
import { type RevocationReason, revocationReason, revocationReasons } from '../crl-entries.ts'
import { computeKeyIdentifier, encodeExtension, readExtensions } from '../extensions.ts'
import type { Issuer } from '../issue.ts'
import { type CertificateSigner, readSignedAnd, type Signed, selectSigner, writeSigned } from '../signing.ts'
import { type CertId, readCertId } from './cert-id.ts'
import { nonceExtension, nonceIn, requireKnown } from './request.ts'

/** Error responses, by number (RFC 6960 §4.2.1). The number 4 is not used. */
const ocspErrors = {
  malformedRequest: 1,
  internalError: 2,
  tryLater: 3,
  sigRequired: 5,
  unauthorized: 6,
} as const
export type OcspError = keyof typeof ocspErrors

/** Status of a certificate. Times are Unix milliseconds, kept to the second. */
export type OcspStatus =
  | { readonly kind: 'good' }
  | {
      readonly kind: 'revoked'
      readonly revokedAt: number
      /** `unspecified` is not written. */
      readonly reason?: RevocationReason | undefined
    }
  | { readonly kind: 'unknown' }

interface OcspAnswer {
  readonly certId: CertId
  readonly status: OcspStatus
  readonly thisUpdate: number
  /** Undefined: newer information is always available. */
  readonly nextUpdate: number | undefined
}

export interface NewOcspResponse {
  readonly answers: readonly OcspAnswer[]
  readonly producedAt: number
  /** The identifier in the request. */
  readonly nonce?: Uint8Array | undefined
}

/** A responder, prepared once for many responses. */
export interface OcspResponder {
  readonly signer: CertificateSigner
  /** The member ResponderID, and the certificates that come with each response. */
  readonly encoded: readonly [id: Uint8Array, ...certificates: Uint8Array[]]
}

/**
 * @param by the issuer of the certificates, or a responder that it authorized
 * @param certificates DER of the certificate of a responder that is not the issuer itself, and of its chain
 * @throws PkiError `cannot_sign`
 */
export function ocspResponder(
  by: Pick<Issuer, 'key' | 'spki'>,
  certificates: readonly Uint8Array[] = [],
): OcspResponder {
  const id = der(contextTag(2), derOctets(computeKeyIdentifier(by.spki)))
  const chain = certificates.length === 0 ? [] : [der(contextTag(0), derSequence(...certificates))]
  return { signer: selectSigner(by), encoded: [id, ...chain] }
}

/** Encodes an error, which is not signed. */
export function ocspErrorResponse(error: OcspError): Buffer {
  return derSequence(der(derTag.enumerated, Uint8Array.of(ocspErrors[error])))
}

/**
 * Signs a response (RFC 6960 §4.2). The responder is named by its key, as RFC 5019 §2.2.2 prefers.
 * @returns DER
 * @throws PkiError `invalid_value`, `cannot_sign`
 */
export async function issueOcspResponse(
  { answers, producedAt, nonce }: NewOcspResponse,
  { signer, encoded: [id, ...certificates] }: OcspResponder,
): Promise<Buffer> {
  if (answers.length === 0)
    throw pkiError('invalid_value', 'An OCSP response must contain at least one single response.')
  const data = derSequence(
    id,
    derGeneralizedTime(producedAt),
    derSequence(...answers.map(encodeAnswer)),
    ...(nonce === undefined ? [] : [der(contextTag(1), derSequence(encodeExtension(nonceExtension(nonce))))]),
  )
  const basic = await writeSigned(data, signer, ...certificates)
  return derSequence(successful, der(contextTag(0), derSequence(basicType, derOctets(basic))))
}

const successful = der(derTag.enumerated, Uint8Array.of(0))
const basicIdentifier = '1.3.6.1.5.5.7.48.1.1'
const basicType = derObjectIdentifier(basicIdentifier)

function encodeAnswer({ certId, status, thisUpdate, nextUpdate }: OcspAnswer): Buffer {
  return derSequence(
    certId.der,
    encodeStatus(status),
    derGeneralizedTime(thisUpdate),
    ...(nextUpdate === undefined ? [] : [der(contextTag(0), derGeneralizedTime(nextUpdate))]),
  )
}

function encodeStatus(status: OcspStatus): Buffer {
  switch (status.kind) {
    case 'good':
      return der(contextTag(0, false))
    case 'unknown':
      return der(contextTag(2, false))
    case 'revoked': {
      const { revokedAt, reason = 'unspecified' } = status
      const number = Uint8Array.of(revocationReasons[reason])
      return der(
        contextTag(1),
        derGeneralizedTime(revokedAt),
        ...(reason === 'unspecified' ? [] : [der(contextTag(0), der(derTag.enumerated, number))]),
      )
    }
  }
}

/** A parsed successful response, not verified: see `ocspVerdict`. */
export interface OcspResponse {
  readonly error: undefined
  readonly signed: Signed
  /** The name (DER) of the signer, or the SHA-1 of its public key. */
  readonly responder: { readonly name: Uint8Array } | { readonly keyHash: Uint8Array }
  readonly producedAt: number
  readonly answers: readonly OcspAnswer[]
  readonly nonce: Uint8Array | undefined
  /** DER of the included certificates. */
  readonly certificates: readonly Uint8Array[]
}

/** Maximum bytes of a response; one with a few post-quantum certificates has about 60,000. */
const maxOcspResponseBytes = 1 << 20

const what = 'The OCSP response'

/** Reads a response, DER (RFC 6960 §4.2.1). @throws PkiError */
export function readOcspResponse(bytes: Uint8Array): OcspResponse | { readonly error: OcspError } {
  if (bytes.length > maxOcspResponseBytes) throw decodeError('is too long')
  const [status, body, another] = derMembers(bytes, what)
  if (another !== undefined) throw decodeError('has too many members')
  const number = readEnumerated(status)
  if (number !== 0) {
    const error = Object.entries(ocspErrors).find(([, each]) => each === number)?.[0]
    if (error === undefined) throw decodeError('has an unknown status')
    return { error: error as OcspError }
  }
  if (body?.tag !== contextTag(0)) throw decodeError('has no responseBytes')
  const [type, basic] = derMembers(derElements(body.content, what)[0]?.whole ?? new Uint8Array(), what)
  if (derIdentifier(type, what) !== basicIdentifier) throw decodeError('is of an unknown type')
  return readBasic(derContent(basic, derTag.octetString, what))
}

function readBasic(bytes: Uint8Array): OcspResponse {
  const { signed, behind } = readSignedAnd(bytes, what)
  const [chain, another] = behind
  if (another !== undefined || (chain !== undefined && chain.tag !== contextTag(0)))
    throw decodeError('has too many members')
  const members = [...derMembers(signed.data, what)]
  if (members[0]?.tag === contextTag(0)) {
    const [version] = derElements(members.shift()?.content ?? new Uint8Array(), what)
    if (derSmallNumber(version, what) !== 0) throw decodeError('is of an unknown version')
  }
  const [responder, producedAt, list, extensions, more] = members
  if (more !== undefined || (extensions !== undefined && extensions.tag !== contextTag(1)))
    throw decodeError('has too many members')
  const answers = derElements(derContent(list, derTag.sequence, what), what)
  if (answers.length === 0) throw decodeError('has no single response')
  return {
    error: undefined,
    signed,
    responder: readResponder(responder),
    producedAt: readGeneralizedTime(producedAt, what),
    answers: answers.map(readAnswer),
    nonce: extensions === undefined ? undefined : nonceIn(readExtensions(extensions.content, what), what),
    certificates: chain === undefined ? [] : certificatesIn(chain),
  }
}

function certificatesIn(chain: DerElement): readonly Uint8Array[] {
  const [list, another] = derElements(chain.content, what)
  if (another !== undefined) throw decodeError('has too many members')
  return derElements(derContent(list, derTag.sequence, what), what).map(({ whole }) => whole)
}

function readResponder(element: DerElement | undefined): OcspResponse['responder'] {
  const [inner, another] = derElements(element?.content ?? new Uint8Array(), what)
  if (inner === undefined || another !== undefined) throw decodeError('does not name its responder')
  if (element?.tag === contextTag(1) && inner.tag === derTag.sequence) return { name: inner.whole }
  if (element?.tag === contextTag(2)) return { keyHash: derContent(inner, derTag.octetString, what) }
  throw decodeError('does not name its responder')
}

function readAnswer(element: DerElement): OcspAnswer {
  const [certId, status, thisUpdate, ...rest] = derMembers(element.whole, what)
  const nextUpdate = rest[0]?.tag === contextTag(0) ? rest.shift() : undefined
  const extensions = rest[0]?.tag === contextTag(1) ? rest.shift() : undefined
  if (rest.length > 0) throw decodeError('has a single response with too many members')
  if (extensions !== undefined) requireKnown(readExtensions(extensions.content, what), what)
  return {
    certId: readCertId(certId, what),
    status: statusIn(status),
    thisUpdate: readGeneralizedTime(thisUpdate, what),
    nextUpdate:
      nextUpdate === undefined
        ? undefined
        : readGeneralizedTime(derElements(nextUpdate.content, what)[0], what),
  }
}

function statusIn(element: DerElement | undefined): OcspStatus {
  switch (element?.tag) {
    case contextTag(0, false):
      return { kind: 'good' }
    case contextTag(2, false):
      return { kind: 'unknown' }
    case contextTag(1): {
      const [revokedAt, reason] = derElements(element.content, what)
      return {
        kind: 'revoked',
        revokedAt: readGeneralizedTime(revokedAt, what),
        reason: reason === undefined ? undefined : reasonIn(reason),
      }
    }
    default:
      throw decodeError('has a single response without status')
  }
}

function reasonIn(element: DerElement) {
  if (element.tag !== contextTag(0)) throw decodeError('has a single response with too many members')
  return revocationReason(readEnumerated(derElements(element.content, what)[0]), what)
}

function readEnumerated(element: DerElement | undefined): number {
  const content = derContent(element, derTag.enumerated, what)
  if (content.length !== 1) throw decodeError('has an invalid number')
  return content[0] ?? 0
}

function decodeError(problem: string) {
  return pkiError('malformed', `${what} ${problem}.`)
}
