import {
  contextTag,
  type DerElement,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derSmallNumber,
  derTag,
} from '../../asn1/der.ts'
import { readGeneralizedTime } from '../../asn1/time.ts'
import { pkiError } from '../../error.ts'
import { readExtensions } from '../extensions.ts'
import { revocationReason } from '../revocation-reasons.ts'
import { readSignedAnd } from '../signed.ts'
import type { Signed } from '../signing.ts'
import { readCertId } from './cert-id.ts'
import { nonceIn, ocspIdentifiers, requireKnown } from './extensions.ts'
import { type OcspAnswer, type OcspError, type OcspStatus, ocspErrors } from './response.ts'

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
export const maxOcspResponseBytes = 1 << 20

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
  if (derIdentifier(type, what) !== ocspIdentifiers.basic) throw decodeError('is of an unknown type')
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
    answers: answers.map(single),
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

function single(element: DerElement): OcspAnswer {
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
