import { failure } from '@warder/base'

const maxBytes = 8192
/** One PEM block (RFC 7468): labels equal, base64 between them, nothing before or after. */
const pem = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----\r?\n(?:[A-Za-z0-9+/=]+[ \t]*\r?\n)+-----END \1-----$/

/**
 * Reads the public key to certify and trims it. Its content is not interpreted: the recipient of the certificate
 * validates it.
 * @throws failure('bad_request')
 */
export function readVerificationKey(text: string): string {
  if (text.length > maxBytes)
    throw failure('bad_request', `verification_key: must not exceed ${maxBytes} bytes.`)
  const trimmed = text.trim()
  if (trimmed === '') throw failure('bad_request', 'verification_key: must not be empty.')
  const match = pem.exec(trimmed)
  if (match === null) {
    throw failure('bad_request', 'verification_key: must be one PEM block with BEGIN and END lines.')
  }
  if (match[1]?.includes('PRIVATE')) {
    throw failure('bad_request', 'verification_key: must be a public key, never a private one.')
  }
  return trimmed
}
