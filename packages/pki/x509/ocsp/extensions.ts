import { derElements, derOctets, derTag } from '../../asn1/der.ts'
import { pkiError } from '../../error.ts'
import type { Extension } from '../extensions.ts'

export const ocspIdentifiers = {
  basic: '1.3.6.1.5.5.7.48.1.1',
  nonce: '1.3.6.1.5.5.7.48.1.2',
} as const

/** RFC 8954 §2.1 */
const maxNonceBytes = 32

/** @param nonce 1 to 32 bytes @throws PkiError */
export function nonceExtension(nonce: Uint8Array): Extension {
  if (nonce.length === 0 || nonce.length > maxNonceBytes)
    throw pkiError('invalid_value', 'A nonce must have 1 to 32 bytes.')
  return { identifier: ocspIdentifiers.nonce, critical: false, value: derOctets(nonce) }
}

/**
 * The nonce, if there is one.
 * @throws PkiError for one that is empty or longer than 32 bytes (RFC 8954 §2.1), and for unknown critical
 *   extensions
 */
export function nonceIn(extensions: readonly Extension[], what: string): Uint8Array | undefined {
  requireKnown(extensions, what)
  const found = extensions.find(({ identifier }) => identifier === ocspIdentifiers.nonce)
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
  if (extensions.some(({ critical, identifier }) => critical && identifier !== ocspIdentifiers.nonce))
    throw pkiError('malformed', `${what} has an unknown critical extension.`)
}
