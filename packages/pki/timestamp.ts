import {
  contextTag,
  type DerElement,
  der,
  derBoolean,
  derContent,
  derElements,
  derIdentifier,
  derInteger,
  derMagnitude,
  derMembers,
  derNull,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from './der.ts'
import { pkiError } from './error.ts'
import { readGeneralizedTime } from './time.ts'

const sha256Identifier = '2.16.840.1.101.3.4.2.1'

/** Digests of a CMS signer (RFC 5754 §2); SHA-1 and MD5 are not accepted. */
export const digests: ReadonlyMap<string, 'sha256' | 'sha384' | 'sha512'> = new Map([
  [sha256Identifier, 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
])

/** Signature algorithms with a separate digest (RFC 3370 §3.2, RFC 5754 §3.2), by their X.509 names. */
export const rsaWith = {
  sha256: '1.2.840.113549.1.1.11',
  sha384: '1.2.840.113549.1.1.12',
  sha512: '1.2.840.113549.1.1.13',
} as const

export const identifiers = {
  signedData: '1.2.840.113549.1.7.2',
  tstInfo: '1.2.840.113549.1.9.16.1.4',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  rsaEncryption: '1.2.840.113549.1.1.1',
} as const

/**
 * Creates a request for a time-stamp token (RFC 3161 §2.4.1) that includes the certificate of the authority.
 * @param digest SHA-256 of the data to stamp
 * @param nonce returned in the token, which proves that it is fresh
 * @returns DER of the TimeStampReq
 */
export function timestampRequest(digest: Uint8Array, nonce: Uint8Array): Buffer {
  const imprint = derSequence(derSequence(derObjectIdentifier(sha256Identifier), derNull), derOctets(digest))
  return derSequence(derNumber(1), imprint, derInteger(nonce), derBoolean(true))
}

const what = 'The time-stamp token'

/** A CMS SignedData (RFC 5652 §5) of one signer with signed attributes, as time-stamp tokens are. */
export interface SignedData {
  /** The signed bytes. */
  readonly content: Uint8Array
  /** DER of the included certificates. */
  readonly certificates: readonly Uint8Array[]
  /** Dotted. */
  readonly digestAlgorithm: string
  /** DER of the AlgorithmIdentifier. */
  readonly signatureAlgorithm: Uint8Array
  readonly signature: Uint8Array
  /** DER of the signed SET (§5.4). */
  readonly signedAttributes: Uint8Array
  /** The single value of each attribute, by its dotted name. */
  readonly attributes: ReadonlyMap<string, DerElement>
}

/**
 * Reads a SignedData structure, without verifying its signature.
 * @param type of the content, dotted
 * @throws PkiError
 */
function readSignedData(token: Uint8Array, type: string): SignedData {
  const [contentType, wrapped, another] = derMembers(token, what)
  if (derIdentifier(contentType, what) !== identifiers.signedData || another !== undefined)
    throw decodeError('is not signed data')
  const [body] = derElements(derContent(wrapped, contextTag(0), what), what)
  const [, , encapsulated, ...rest] = derMembers(body?.whole ?? new Uint8Array(), what)
  const certificates = rest[0]?.tag === contextTag(0) ? rest.shift() : undefined
  if (rest[0]?.tag === contextTag(1)) rest.shift()
  const [signers, more] = rest
  if (more !== undefined) throw decodeError('has too many members')
  const [eType, eContent] = derMembers(encapsulated?.whole ?? new Uint8Array(), what)
  if (derIdentifier(eType, what) !== type) throw decodeError('is of another type')
  const [octets] = derElements(derContent(eContent, contextTag(0), what), what)
  const [signer, secondSigner] = derElements(derContent(signers, derTag.set, what), what)
  if (signer === undefined || secondSigner !== undefined) throw decodeError('does not have one signer')
  return {
    content: derContent(octets, derTag.octetString, what),
    // The list may contain other forms than certificates, which have their own tags.
    certificates: derElements(certificates?.content ?? new Uint8Array(), what)
      .filter(({ tag }) => tag === derTag.sequence)
      .map(({ whole }) => whole),
    ...readSigner(signer),
  }
}

function readSigner(signer: DerElement) {
  const [, , digest, attributes, algorithm, signature] = derMembers(signer.whole, what)
  const [digestAlgorithm] = derMembers(digest?.whole ?? new Uint8Array(), what)
  const signed = derContent(attributes, contextTag(0), what)
  if (algorithm?.tag !== derTag.sequence) throw decodeError('has no signature')
  const found = new Map<string, DerElement>()
  for (const attribute of derElements(signed, what)) {
    const [name, values] = derMembers(attribute.whole, what)
    const identifier = derIdentifier(name, what)
    const [value, second] = derElements(derContent(values, derTag.set, what), what)
    if (value === undefined || second !== undefined || found.has(identifier))
      throw decodeError('has an attribute that does not have one value')
    found.set(identifier, value)
  }
  return {
    digestAlgorithm: derIdentifier(digestAlgorithm, what),
    signatureAlgorithm: algorithm.whole,
    signature: derContent(signature, derTag.octetString, what),
    // The signature covers the SET tag, not the tag in the SignerInfo (RFC 5652 §5.4).
    signedAttributes: der(derTag.set, signed),
    attributes: found,
  }
}

function decodeError(problem: string) {
  return pkiError('malformed', `${what} ${problem}.`)
}

/** Maximum bytes of a response, whose token contains a certificate chain. */
const maxTimestampResponseBytes = 1 << 18

/** A parsed time-stamp token (RFC 3161 §2.4.2), not verified: see `timestampVerdict`. */
interface TimestampToken {
  /** Unix milliseconds. */
  readonly time: number
  /** SHA-256 of the stamped data. */
  readonly digest: Uint8Array
  /** Magnitude, without leading zeros. */
  readonly nonce: Uint8Array | undefined
  readonly signed: SignedData
}

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
