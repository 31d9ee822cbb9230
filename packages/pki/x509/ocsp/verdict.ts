import { PkiError } from '../../error.ts'
import { type ParsedCertificate, parseCertificate } from '../certificate.ts'
import { computeKeyIdentifier, keyPurposes, readExtendedKeyUsage, readKeyUsage } from '../extensions.ts'
import { isSignedWith } from '../signing.ts'
import { isFromIssuer } from './cert-id.ts'
import type { OcspResponse, OcspStatus } from './response.ts'

export interface OcspQuestion {
  readonly certificate: Pick<ParsedCertificate, 'serial'>
  /** The certificate of its issuer. */
  readonly issuer: ParsedCertificate
  /** Unix milliseconds. */
  readonly at: number
  /** The nonce of the request; a response without one is accepted, as RFC 5019 §4 describes. */
  readonly nonce?: Uint8Array
  /** Called before each signature is verified; false ends the work. */
  readonly mayVerify?: () => boolean
}

/** Status of a certificate by a response, or the reason why the response is not usable. */
export type OcspVerdict =
  | { readonly status: OcspStatus; readonly thisUpdate: number; readonly problem: undefined }
  | { readonly status: undefined; readonly problem: string }

/** Tolerated clock difference, and maximum age of a response without nextUpdate. */
const toleranceMs = 5 * 60_000
/** Maximum number of included certificates to try as the responder's. */
const maxResponders = 8

/** Verifies a response as RFC 6960 §3.2 requires, and returns the status of the certificate. */
export function ocspVerdict(response: OcspResponse, question: OcspQuestion): OcspVerdict {
  try {
    return verdict(response, question)
  } catch (error) {
    // The response contains an unreadable certificate or algorithm.
    if (error instanceof PkiError) return no(error.message)
    throw error
  }
}

function verdict(response: OcspResponse, question: OcspQuestion): OcspVerdict {
  const { certificate, issuer, at, nonce } = question
  if (nonce !== undefined && response.nonce !== undefined && !equal(nonce, response.nonce))
    return no('The OCSP response has the nonce of another request.')
  const named = { name: issuer.subject, spki: issuer.spki }
  const answer = response.answers.find(
    ({ certId }) => equal(certId.serial, certificate.serial) && isFromIssuer(certId, named),
  )
  if (answer === undefined) return no('The OCSP response is for other certificates.')
  if (answer.thisUpdate > at + toleranceMs || response.producedAt > at + toleranceMs)
    return no('The OCSP response is from the future.')
  if (at > (answer.nextUpdate ?? answer.thisUpdate) + toleranceMs)
    return no('The OCSP response is out of date.')
  const problem = signatureProblem(response, question)
  return problem === undefined
    ? { status: answer.status, thisUpdate: answer.thisUpdate, problem }
    : no(problem)
}

/** RFC 6960 §4.2.2.2: signed by the issuer, or by a responder that this issuer authorized. */
function signatureProblem(
  response: OcspResponse,
  { issuer, at, mayVerify }: OcspQuestion,
): string | undefined {
  const may = mayVerify ?? (() => true)
  const tooMuch = 'The OCSP response was not checked: too many signatures.'
  if (isNamed(response, issuer)) {
    if (!may()) return tooMuch
    return isSignedWith(response.signed, issuer.key)
      ? undefined
      : 'The signature of the OCSP response is wrong.'
  }
  for (const der of response.certificates.slice(0, maxResponders)) {
    const responder = parseCertificate(der)
    if (!isNamed(response, responder)) continue
    if (!mayRespond(responder, issuer, at)) continue
    if (!may() || !may()) return tooMuch
    if (!isSignedWith(responder.signed, issuer.key)) continue
    return isSignedWith(response.signed, responder.key)
      ? undefined
      : 'The signature of the OCSP response is wrong.'
  }
  return 'The signer of the OCSP response is not authorized by the issuer.'
}

function isNamed({ responder }: OcspResponse, { subject, spki }: ParsedCertificate): boolean {
  return 'name' in responder
    ? equal(responder.name, subject)
    : equal(responder.keyHash, computeKeyIdentifier(spki))
}

function mayRespond(responder: ParsedCertificate, issuer: ParsedCertificate, at: number): boolean {
  const uses = readKeyUsage(responder.extensions)
  return (
    equal(responder.issuer, issuer.subject) &&
    responder.notBefore <= at &&
    at <= responder.notAfter &&
    readExtendedKeyUsage(responder.extensions)?.includes(keyPurposes.OCSPSigning) === true &&
    (uses === undefined || uses.includes('digitalSignature') || uses.includes('nonRepudiation'))
  )
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

function no(problem: string): OcspVerdict {
  return { status: undefined, problem }
}
