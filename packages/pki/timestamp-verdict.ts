import { createHash } from 'node:crypto'
import {
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derNull,
  derObjectIdentifier,
  derSequence,
  derTag,
} from './der.ts'
import { PkiError } from './error.ts'
import { digests, identifiers, readTimestampToken, rsaWith, type SignedData } from './timestamp.ts'
import { type ParsedCertificate, parseCertificate } from './x509/certificate.ts'
import { nameText } from './x509/distinguished-name.ts'
import { extensionIdentifiers, keyPurposes, readExtendedKeyUsage } from './x509/extensions.ts'
import { validatePath } from './x509/path/validate.ts'
import { isSignedWith } from './x509/signing.ts'

export interface TimestampQuestion {
  /** DER. */
  readonly token: Uint8Array
  /** Expected SHA-256 of the stamped data. */
  readonly digest: Uint8Array
  /** The nonce of the request; absent for a stored token. */
  readonly nonce?: Uint8Array
  /** DER of trusted certificates for authorities. */
  readonly anchors: readonly Uint8Array[]
}

export type TimestampVerdict =
  /** `time` in Unix milliseconds; `authority` is the subject of its certificate. */
  { readonly time: number; readonly authority: string } | { readonly problem: string }

const what = 'The time-stamp token'

/**
 * Verifies that the token proves that this digest existed at its time (RFC 3161 §2.2, §2.3, RFC 5816). The path of
 * the authority is validated at that time: a token outlives the certificate.
 */
export function timestampVerdict(question: TimestampQuestion): TimestampVerdict {
  try {
    const { time, digest, nonce, signed } = readTimestampToken(question.token)
    if (!same(digest, question.digest)) return problem('stamps other data')
    if (question.nonce !== undefined && (nonce === undefined || !same(nonce, shortest(question.nonce))))
      return problem('does not belong to this request')
    const signer = findSigner(signed)
    if (signer === undefined) return problem('does not contain the certificate of its signer')
    const reason = contentProblem(signed) ?? purposeProblem(signer)
    if (reason !== undefined) return problem(reason)
    const algorithm = x509Algorithm(signed)
    const { signature, signedAttributes: data } = signed
    if (algorithm === undefined || !isSignedWith({ algorithm, data, signature }, signer.key))
      return problem('has a signature that does not verify')
    const path = validatePath({
      certificate: signer.der,
      anchors: question.anchors,
      others: signed.certificates,
      at: time,
      purpose: keyPurposes.timeStamping,
    })
    return path.validity === 'Valid'
      ? { time, authority: nameText(signer.subject) }
      : problem(`comes from an authority that is not trusted (${path.reason ?? 'no path to an anchor'})`)
  } catch (error) {
    if (error instanceof PkiError) return { problem: error.message }
    throw error
  }
}

/** Finds the certificate whose digest is a signed attribute (RFC 5816 §2.2.1; RFC 2634 §5.4 for SHA-1). */
function findSigner(signed: SignedData): ParsedCertificate | undefined {
  const named = signed.attributes.get(identifiers.signingCertificateV2)
  const old = signed.attributes.get(identifiers.signingCertificate)
  const attribute = named ?? old
  if (attribute === undefined) return undefined
  const [list] = derMembers(attribute.whole, what)
  const [first] = derElements(derContent(list, derTag.sequence, what), what)
  const members = derMembers(first?.whole ?? new Uint8Array(), what)
  const [algorithm] = members
  const isNamed = named !== undefined && algorithm?.tag === derTag.sequence
  const hash =
    named === undefined
      ? 'sha1'
      : isNamed
        ? digests.get(derIdentifier(derMembers(algorithm.whole, what)[0], what))
        : 'sha256'
  const digest = members.find(({ tag }) => tag === derTag.octetString)?.content
  if (hash === undefined || digest === undefined) return undefined
  const found = signed.certificates.find((each) => same(createHash(hash).update(each).digest(), digest))
  return found === undefined ? undefined : parseCertificate(found)
}

/** The signature covers the attributes, which contain the type and digest of the content (RFC 5652 §5.4). */
function contentProblem({ attributes, content, digestAlgorithm }: SignedData): string | undefined {
  const type = attributes.get(identifiers.contentType)
  const digest = attributes.get(identifiers.messageDigest)
  const hash = digests.get(digestAlgorithm)
  if (hash === undefined) return 'is signed with an unsupported digest'
  const isWhole =
    type !== undefined &&
    derIdentifier(type, what) === identifiers.tstInfo &&
    digest !== undefined &&
    same(derContent(digest, derTag.octetString, what), createHash(hash).update(content).digest())
  return isWhole ? undefined : 'differs from the signed content'
}

/** RFC 3161 §2.3: time stamping is the only purpose of the key, in a critical extension. */
function purposeProblem({ extensions }: ParsedCertificate): string | undefined {
  const purposes = readExtendedKeyUsage(extensions)
  const critical = extensions.some(
    (each) => each.identifier === extensionIdentifiers.createExtendedKeyUsage && each.critical,
  )
  return critical && purposes?.length === 1 && purposes[0] === keyPurposes.timeStamping
    ? undefined
    : 'was signed with a key that is not reserved for time stamping'
}

/** Returns the algorithm as in certificates: RSA has a separate digest. */
function x509Algorithm({ signatureAlgorithm, digestAlgorithm }: SignedData): Uint8Array | undefined {
  const [identifier] = derMembers(signatureAlgorithm, what)
  if (derIdentifier(identifier, what) !== identifiers.rsaEncryption) return signatureAlgorithm
  const hash = digests.get(digestAlgorithm)
  return hash === undefined ? undefined : derSequence(derObjectIdentifier(rsaWith[hash]), derNull)
}

const problem = (text: string): TimestampVerdict => ({ problem: `${what} ${text}.` })

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.from(one).equals(other)

function shortest(magnitude: Uint8Array): Uint8Array {
  let start = 0
  while (start < magnitude.length - 1 && magnitude[start] === 0) start += 1
  return magnitude.subarray(start)
}
