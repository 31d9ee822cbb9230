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
 * Asks for a time-stamp token (RFC 3161 §2.4.1), with the certificate of the authority in it.
 * @param digest SHA-256 of what is to be stamped
 * @param nonce comes back in the token: it is not an old one
 * @returns DER of the TimeStampReq
 */
export function timestampRequest(digest: Uint8Array, nonce: Uint8Array): Buffer {
  const imprint = derSequence(derSequence(derObjectIdentifier(sha256Identifier), derNull), derOctets(digest))
  return derSequence(derNumber(1), imprint, derInteger(nonce), derBoolean(true))
}
