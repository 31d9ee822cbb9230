import { contextTag, der, derObjectIdentifier, derOctets, derSequence, derTag } from '../../asn1/der.ts'
import { derGeneralizedTime } from '../../asn1/time.ts'
import { pkiError } from '../../error.ts'
import { computeKeyIdentifier, encodeExtension } from '../extensions.ts'
import type { Issuer } from '../issue.ts'
import { type RevocationReason, revocationReasons } from '../revocation-reasons.ts'
import { writeSigned } from '../signed.ts'
import { type CertificateSigner, selectSigner } from '../signing.ts'
import type { CertId } from './cert-id.ts'
import { nonceExtension, ocspIdentifiers } from './extensions.ts'

/** Error responses, by number (RFC 6960 §4.2.1). The number 4 is not used. */
export const ocspErrors = {
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

export interface OcspAnswer {
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
    derSequence(...answers.map(single)),
    ...(nonce === undefined ? [] : [der(contextTag(1), derSequence(encodeExtension(nonceExtension(nonce))))]),
  )
  const basic = await writeSigned(data, signer, ...certificates)
  return derSequence(successful, der(contextTag(0), derSequence(basicType, derOctets(basic))))
}

const successful = der(derTag.enumerated, Uint8Array.of(0))
const basicType = derObjectIdentifier(ocspIdentifiers.basic)

function single({ certId, status, thisUpdate, nextUpdate }: OcspAnswer): Buffer {
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
