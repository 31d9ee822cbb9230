import {
  contextTag,
  type DerElement,
  derContent,
  derElements,
  derIdentifier,
  derMagnitude,
  derMembers,
  derSmallNumber,
  derTag,
} from '../asn1/der.ts'
import { readGeneralizedTime } from '../asn1/time.ts'
import { pkiError } from '../error.ts'
import { identifiers, sha256Identifier } from './identifiers.ts'
import { readSignedData, type SignedData } from './signed-data.ts'

/** Maximum bytes of a response, whose token contains a certificate chain. */
const maxTimestampResponseBytes = 1 << 18

/** A parsed time-stamp token (RFC 3161 §2.4.2), not verified: see `timestampVerdict`. */
export interface TimestampToken {
  /** Unix milliseconds. */
  readonly time: number
  /** SHA-256 of the stamped data. */
  readonly digest: Uint8Array
  /** Magnitude, without leading zeros. */
  readonly nonce: Uint8Array | undefined
  readonly signed: SignedData
}

const what = 'The time-stamp token'

/**
 * Reads the response of a time-stamping authority. @returns DER of its token @throws PkiError with the message of the
 * authority
 */
export function tokenInResponse(response: Uint8Array): Uint8Array {
  const name = 'The response of the time-stamping authority'
  if (response.length > maxTimestampResponseBytes) throw pkiError('malformed', `${name} is too long.`)
  const [status, token, another] = derMembers(response, name)
  const [number, texts] = derMembers(status?.whole ?? new Uint8Array(), name)
  const granted = derSmallNumber(number, name)
  if (granted > 1) {
    const text = texts?.tag === derTag.sequence ? derElements(texts.content, name)[0]?.content : undefined
    const said = text === undefined ? '' : `: ${Buffer.from(text).toString('utf8').slice(0, 200)}`
    throw pkiError(
      'invalid_request',
      `The time-stamping authority returned no token (status ${granted}${said}).`,
    )
  }
  if (token === undefined || another !== undefined) throw pkiError('malformed', `${name} has no token.`)
  return token.whole
}

/** @param token DER @throws PkiError */
export function readTimestampToken(token: Uint8Array): TimestampToken {
  const signed = readSignedData(token, identifiers.tstInfo)
  const [version, , imprint, , time, ...optional] = derMembers(signed.content, what)
  if (derSmallNumber(version, what) !== 1) throw decodeError('is of an unknown version')
  const [algorithm, digest] = derMembers(imprint?.whole ?? new Uint8Array(), what)
  const [hash] = derMembers(algorithm?.whole ?? new Uint8Array(), what)
  if (derIdentifier(hash, what) !== sha256Identifier) throw decodeError('uses another digest than SHA-256')
  return {
    time: readTime(time),
    digest: derContent(digest, derTag.octetString, what),
    nonce: readNonce(optional),
    signed,
  }
}

/** The time may have fractions of a second (§2.4.2), unlike in certificates. */
function readTime(element: DerElement | undefined): number {
  const text = Buffer.from(derContent(element, 0x18, what)).toString('latin1')
  const [, whole, fraction = ''] = /^(\d{14})(?:\.(\d{1,9}))?Z$/.exec(text) ?? []
  if (whole === undefined || element === undefined)
    throw decodeError('has a time that is not in the form of RFC 3161')
  const content = Buffer.from(`${whole}Z`, 'latin1')
  return readGeneralizedTime({ ...element, content }, what) + Number(fraction.padEnd(3, '0').slice(0, 3))
}

/** After the time: accuracy (SEQUENCE), ordering (BOOLEAN), nonce (INTEGER), tsa [0], extensions [1]. */
function readNonce(optional: readonly DerElement[]): Uint8Array | undefined {
  const known = [
    derTag.sequence,
    derTag.boolean,
    derTag.integer,
    contextTag(0),
    contextTag(1),
  ] as readonly number[]
  const places = optional.map(({ tag }) => known.indexOf(tag))
  if (places.some((place, index) => place < 0 || place <= (places[index - 1] ?? -1)))
    throw decodeError('has unknown members')
  const nonce = optional.find(({ tag }) => tag === derTag.integer)
  return nonce === undefined ? undefined : derMagnitude(nonce, what)
}

function decodeError(problem: string) {
  return pkiError('malformed', `${what} ${problem}.`)
}
