import {
  derBoolean,
  derInteger,
  derNull,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
} from '../asn1/der.ts'
import { sha256Identifier } from './identifiers.ts'

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
